// The distribution of a total effect over graphs: a mixture of normals, one for each graph with the
// effect, and a point mass at zero for the graphs without it.
#pragma once

#include <utility>
#include <vector>

namespace bowfree {

class EffectMixture {
  public:
    struct Component {
        double weight, estimate, error;  ///< `error`, the standard error, is positive
    };

    void add(const Component& component);
    /// Adds the components of another mixture, with `scale` times their weights.
    void add(const EffectMixture& other, double scale);

    /// An interval of probability `level` or more under the mixture, whose point mass at zero is
    /// `total` minus the weight of the components. If an effect is more probable than `level`, the
    /// interval may leave out zero. Otherwise it has equal tails, and if the effect is not very
    /// improbable, it also has probability `level`^2 given that there is an effect: the interval of
    /// an effect of small probability would otherwise be [0, 0], which covers no existing effect.
    std::pair<double, double> interval(double level, double total);

  private:
    /// The smallest x with F(x) >= p, for weights times `scale` and the mass `at_zero` at zero.
    double quantile(double p, double at_zero, double scale) const;
    double below(double x) const;
    /// Merges components that hardly differ: many graphs have nearly the same effect.
    void join();

    std::vector<Component> components_;
    std::size_t joined_ = 0;    // components after the last `join`
    double with_effect_ = 0.0;  // weight of all components
};

}  // namespace bowfree
