// The distribution of a total effect over graphs: a mixture of normals, one for each graph with the
// effect, and a point mass at zero for the graphs without it.
#pragma once

#include <array>
#include <utility>
#include <vector>

namespace bowfree {

/// Sampled graphs are divided into this number of batches of consecutive samples, from which the
/// Monte Carlo error is estimated.
inline constexpr int n_batches = 8;

/// Parts of a weight that stem from each batch; all zero if graphs were not sampled.
using Batches = std::array<double, n_batches>;

/// Probability up to which an effect is neglected.
inline constexpr double improbable = 0.01;

struct Interval {
    double lower, upper;
};

class EffectMixture {
  public:
    struct Component {
        double weight, estimate, error;  ///< `error`, the standard error, is positive
        Batches batches{};               ///< the parts of `weight`
        double sum = weight * estimate;  ///< over the graphs that were merged into this component
    };
    struct Means {
        double effect, absolute;
    };

    void add(const Component& component);
    /// Adds the components of another mixture, with `scale` times their weights, of which each
    /// batch has a share.
    void add(const EffectMixture& other, double scale, const Batches& shares = {});

    /// An interval of probability `level` or more, under the mixture, whose point mass at zero is
    /// `total` minus the weight of the components, and given that there is an effect: the interval
    /// of an effect of small probability would otherwise be [0, 0], which covers no existing effect.
    /// (An effect whose probability is at most `neglected` and 1 - `level` has [0, 0] all the same.)
    /// If an interval with equal tails has these probabilities without zero, it is that one;
    /// otherwise a short one with zero.
    Interval interval(double level, double total, double neglected = improbable);

    /// The mean of the effect and of its absolute value. Estimates farther from the interval than ten
    /// times its width count as that far: where a fit is nearly singular, effects have no bound.
    Means means(const Interval& interval, double total) const;

    /// The Monte Carlo standard errors of both ends, by the jackknife over batches; `totals` are
    /// the parts of `total`.
    Interval errors(double level, double total, const Batches& totals);

  private:
    /// The interval without the weights of one batch, or with all of them (-1).
    Interval interval_without(int batch, double level, double total,
                              double neglected = improbable) const;
    /// The smallest x with F(x) >= p; `weights` sum to 1 here and below.
    double quantile(const std::vector<double>& weights, double p) const;
    /// The shortest of three intervals that contain zero and have probability `mass`: the lower tail
    /// has a sixth, half or five sixths of the rest, or less if there are fewer negative effects.
    Interval with_zero(const std::vector<double>& weights, double mass) const;
    double below(const std::vector<double>& weights, double x) const;
    /// Merges components that hardly differ: many graphs have nearly the same effect.
    void join();

    std::vector<Component> components_;
    std::size_t joined_ = 0;  // components after the last `join`
};

}  // namespace bowfree
