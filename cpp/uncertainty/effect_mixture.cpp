#include "uncertainty/effect_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace bowfree {

constexpr double same = 0.01;      // in standard errors: closer components are merged
constexpr double fine = 1e-3;      // in standard errors: accuracy of quantiles
constexpr std::size_t many = 256;  // components before they are merged
constexpr double far = 8.5;        // standard errors beyond which a normal has no mass
constexpr int max_halvings = 60;
constexpr double largest_distance = 10.0;  // of an estimate from the interval, in its widths

void EffectMixture::add(const Component& component) {
    components_.push_back(component);
    if (components_.size() > 2 * joined_ + many) join();
}

void EffectMixture::add(const EffectMixture& other, double scale, const Batches& shares) {
    for (const Component& c : other.components_) {
        Component scaled{scale * c.weight, c.estimate, c.error};
        scaled.sum = scale * c.sum;
        for (int b = 0; b < n_batches; ++b) scaled.batches[b] = shares[b] * scaled.weight;
        add(scaled);
    }
}

void EffectMixture::join() {
    // From zero to both sides, so that a change of the sign of a variable changes signs only.
    std::ranges::stable_sort(components_, [](const Component& a, const Component& b) {
        const bool below = std::signbit(a.estimate);
        if (below != std::signbit(b.estimate)) return below;
        return a.estimate != b.estimate ? (a.estimate < b.estimate) != below : a.error < b.error;
    });
    std::vector<Component> kept;
    for (const Component& next : components_) {
        // Estimates are sorted, so a close component is among the last. Its estimate is not
        // changed, because many small shifts may add up to a large one.
        const double close = same * next.error;
        const auto near = [&](const Component& other) {
            return std::signbit(next.estimate) == std::signbit(other.estimate) &&
                   std::abs(next.estimate - other.estimate) < close;
        };
        auto twin = kept.rbegin();
        while (twin != kept.rend() && near(*twin) && std::abs(next.error - twin->error) >= close)
            ++twin;
        if (twin != kept.rend() && near(*twin)) {
            twin->weight += next.weight;
            twin->sum += next.sum;
            for (int b = 0; b < n_batches; ++b) twin->batches[b] += next.batches[b];
        } else {
            kept.push_back(next);
        }
    }
    components_ = std::move(kept);
    joined_ = components_.size();
}

double EffectMixture::below(const std::vector<double>& weights, double x) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < components_.size(); ++k) {
        const double z = (x - components_[k].estimate) / components_[k].error;
        if (z > far)
            sum += weights[k];
        else if (z > -far)
            sum += 0.5 * weights[k] * std::erfc(-z / std::numbers::sqrt2);
    }
    return sum;
}

double EffectMixture::quantile(const std::vector<double>& weights, double p) const {
    double low = 0.0, high = 0.0, narrowest = components_.front().error;
    for (const Component& c : components_) {
        low = std::min(low, c.estimate - far * c.error);
        high = std::max(high, c.estimate + far * c.error);
        narrowest = std::min(narrowest, c.error);
    }
    (below(weights, 0.0) >= p ? high : low) = 0.0;
    for (int step = 0; step < max_halvings && high - low > fine * narrowest; ++step) {
        const double middle = 0.5 * (low + high);
        (below(weights, middle) >= p ? high : low) = middle;
    }
    return 0.5 * (low + high);
}

Interval EffectMixture::with_zero(const std::vector<double>& weights, double mass) const {
    const double negative = below(weights, 0.0);
    const double least = std::max(0.0, negative - mass), most = std::min(negative, 1.0 - mass);
    Interval shortest{0.0, 0.0};
    double last = -1.0;
    for (const double share : {0.5, 1.0 / 6.0, 5.0 / 6.0}) {
        const double tail = std::clamp(share * (1.0 - mass), least, most);
        if (tail == last) continue;
        const Interval next{tail < negative ? quantile(weights, tail) : 0.0,
                            tail > negative - mass ? quantile(weights, tail + mass) : 0.0};
        if (last < 0.0 || next.upper - next.lower < shortest.upper - shortest.lower)
            shortest = next;
        last = tail;
    }
    return shortest;
}

Interval EffectMixture::interval_without(int batch, double level, double total,
                                         double neglected) const {
    std::vector<double> weights;
    for (const Component& c : components_)
        weights.push_back(batch < 0 ? c.weight : std::max(0.0, c.weight - c.batches[batch]));
    const double with_effect = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double probability = with_effect / total;
    if (!(probability > std::min(neglected, 1.0 - level))) return {0.0, 0.0};
    for (double& weight : weights) weight /= with_effect;
    if (probability > level) {
        const double tail = 0.5 * (1.0 - level / std::min(1.0, probability));
        const Interval found{quantile(weights, tail), quantile(weights, 1.0 - tail)};
        if (found.lower > 0.0 || found.upper < 0.0) return found;
    }
    return with_zero(weights, level);
}

Interval EffectMixture::interval(double level, double total, double neglected) {
    join();
    return interval_without(-1, level, total, neglected);
}

EffectMixture::Means EffectMixture::means(const Interval& interval, double total) const {
    const double margin = largest_distance * (interval.upper - interval.lower);
    double positive = 0.0, negative = 0.0;  // apart, so that a change of sign changes no bit
    for (const Component& c : components_) {
        const double sum = std::clamp(c.sum, c.weight * (interval.lower - margin),
                                      c.weight * (interval.upper + margin));
        (sum > 0.0 ? positive : negative) += std::abs(sum);
    }
    return {(positive - negative) / total, (positive + negative) / total};
}

Interval EffectMixture::errors(double level, double total, const Batches& totals) {
    join();
    std::array<Interval, n_batches> left;
    Interval mean{0.0, 0.0}, squares{0.0, 0.0};
    for (int b = 0; b < n_batches; ++b) {
        left[b] = interval_without(b, level, total - totals[b]);
        mean.lower += left[b].lower / n_batches;
        mean.upper += left[b].upper / n_batches;
    }
    for (const Interval& one : left) {
        squares.lower += (one.lower - mean.lower) * (one.lower - mean.lower);
        squares.upper += (one.upper - mean.upper) * (one.upper - mean.upper);
    }
    const double factor = (n_batches - 1.0) / n_batches;
    return {std::sqrt(factor * squares.lower), std::sqrt(factor * squares.upper)};
}

}  // namespace bowfree
