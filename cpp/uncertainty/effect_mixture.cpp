#include "uncertainty/effect_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bowfree {

namespace {

constexpr double same = 1e-3;        // in standard errors: components this close are one
constexpr double improbable = 0.01;  // effects below have no interval of their own
constexpr double far = 8.5;          // standard errors beyond which a normal law has no mass
constexpr int max_halvings = 60;

}  // namespace

void EffectMixture::add(std::vector<Component>& components, double scale) {
    std::sort(components.begin(), components.end(), [](const Component& a, const Component& b) {
        return a.estimate != b.estimate ? a.estimate < b.estimate : a.error < b.error;
    });
    const std::size_t before = components_.size();
    for (const Component& next : components) {
        const double weight = scale * next.weight;
        with_effect_ += weight;
        // Estimates ascend, so that a twin is among the last.
        const double close = same * next.error;
        std::size_t twin = components_.size();
        while (twin > before && next.estimate - components_[twin - 1].estimate < close &&
               std::abs(next.error - components_[twin - 1].error) >= close)
            --twin;
        if (twin > before && next.estimate - components_[twin - 1].estimate < close)
            components_[twin - 1].weight += weight;
        else
            components_.push_back({weight, next.estimate, next.error});
    }
}

EffectMixture& EffectMixture::operator+=(const EffectMixture& other) {
    components_.insert(components_.end(), other.components_.begin(), other.components_.end());
    with_effect_ += other.with_effect_;
    return *this;
}

double EffectMixture::below(double x) const {
    double sum = 0.0;
    for (const Component& c : components_) {
        const double z = (x - c.estimate) / c.error;
        if (z > far)
            sum += c.weight;
        else if (z > -far)
            sum += 0.5 * c.weight * std::erfc(-z / std::numbers::sqrt2);
    }
    return sum;
}

double EffectMixture::quantile(double p, double at_zero, double scale) const {
    const double negative = scale * below(0.0);
    if (negative < p && negative + at_zero >= p) return 0.0;
    double low = 0.0, high = 0.0, narrowest = components_.front().error;
    for (const Component& c : components_) {
        low = std::min(low, c.estimate - far * c.error);
        high = std::max(high, c.estimate + far * c.error);
        narrowest = std::min(narrowest, c.error);
    }
    const double mass = negative >= p ? 0.0 : at_zero;
    (negative >= p ? high : low) = 0.0;
    for (int step = 0; step < max_halvings && high - low > same * narrowest; ++step) {
        const double middle = 0.5 * (low + high);
        (scale * below(middle) + mass >= p ? high : low) = middle;
    }
    return 0.5 * (low + high);
}

std::pair<double, double> EffectMixture::interval(double level, double total) const {
    if (components_.empty()) return {0.0, 0.0};
    const double tail = 0.5 * (1.0 - level), probability = with_effect_ / total;
    const double none = std::max(0.0, 1.0 - probability);
    double lower = quantile(tail, none, 1.0 / total);
    double upper = quantile(1.0 - tail, none, 1.0 / total);
    if (probability >= improbable) {
        lower = std::min(lower, quantile(tail, 0.0, 1.0 / with_effect_));
        upper = std::max(upper, quantile(1.0 - tail, 0.0, 1.0 / with_effect_));
    }
    return {lower, upper};
}

}  // namespace bowfree
