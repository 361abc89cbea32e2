// The law of one total effect when the graph is not known: a mixture of normals, one for each graph
// in which there is an effect, and a point mass at zero for the graphs in which there is none.
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

    /// For a whole weight of `total`, what the components leave of it being the mass at zero: an
    /// interval that holds a share `level` of the mixture between equal tails and, unless an
    /// effect is too improbable to speak of, as much of the mixture without its point mass. Without
    /// the second part every effect of small probability would have the interval [0, 0], which
    /// covers none of those that exist.
    std::pair<double, double> interval(double level, double total);

  private:
    /// The smallest x with F(x) >= p; F has the mass `at_zero` there, and weights times `scale`.
    double quantile(double p, double at_zero, double scale) const;
    double below(double x) const;
    /// Joins components that hardly differ: equivalent graphs often agree on an effect, and graphs
    /// with most edges in common nearly do.
    void join();

    std::vector<Component> components_;
    std::size_t joined_ = 0;    // components after the last `join`
    double with_effect_ = 0.0;  // weight of all components
};

}  // namespace bowfree
