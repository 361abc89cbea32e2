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

    /// The interval with equal tails that has probability `level` under the mixture and, unless the
    /// effect is very improbable, also under the mixture without its point mass at zero, whose
    /// weight is `total` minus that of the components. Without the second condition, effects of
    /// small probability would have the interval [0, 0], which never covers an existing effect.
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
