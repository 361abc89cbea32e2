#include "uncertainty/effect_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace bowfree {

namespace {

constexpr double same = 0.01;        // in standard errors: closer components are merged
constexpr double fine = 1e-3;        // in standard errors: accuracy of quantiles
constexpr std::size_t many = 256;    // components before they are merged
constexpr double improbable = 0.01;  // smallest probability with an interval of its own
constexpr double far = 8.5;          // standard errors beyond which a normal has no mass
constexpr int max_halvings = 60;

}  // namespace

void EffectMixture::add(const Component& component) {
    components_.push_back(component);
    with_effect_ += component.weight;
    if (components_.size() > 2 * joined_ + many) join();
}

void EffectMixture::add(const EffectMixture& other, double scale) {
    for (const Component& c : other.components_) add({scale * c.weight, c.estimate, c.error});
}

void EffectMixture::join() {
    std::ranges::sort(components_, [](const Component& a, const Component& b) {
        return a.estimate != b.estimate ? a.estimate < b.estimate : a.error < b.error;
    });
    std::vector<Component> kept;
    for (const Component& next : components_) {
        // Estimates are sorted, so a close component is among the last. Its estimate is not
        // changed, because many small shifts may add up to a large one.
        const double close = same * next.error;
        auto twin = kept.rbegin();
        while (twin != kept.rend() && next.estimate - twin->estimate < close &&
               std::abs(next.error - twin->error) >= close)
            ++twin;
        if (twin != kept.rend() && next.estimate - twin->estimate < close)
            twin->weight += next.weight;
        else
            kept.push_back(next);
    }
    components_ = std::move(kept);
    joined_ = components_.size();
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
    for (int step = 0; step < max_halvings && high - low > fine * narrowest; ++step) {
        const double middle = 0.5 * (low + high);
        (scale * below(middle) + mass >= p ? high : low) = middle;
    }
    return 0.5 * (low + high);
}

std::pair<double, double> EffectMixture::interval(double level, double total) {
    if (components_.empty()) return {0.0, 0.0};
    join();
    const double probability = std::min(1.0, with_effect_ / total);
    const auto ends = [&](double mass, double at_zero, double scale) {
        const double tail = 0.5 * (1.0 - mass);
        return std::pair(quantile(tail, at_zero, scale), quantile(1.0 - tail, at_zero, scale));
    };
    const double given_effect = 1.0 / with_effect_;
    if (probability > level) {
        const auto without_zero = ends(level / probability, 0.0, given_effect);
        if (without_zero.first > 0.0 || without_zero.second < 0.0) return without_zero;
    }
    auto [lower, upper] = ends(level, 1.0 - probability, 1.0 / total);
    if (probability >= improbable) {
        const auto present = ends(level * level, 0.0, given_effect);
        lower = std::min(lower, present.first);
        upper = std::max(upper, present.second);
    }
    return {lower, upper};
}

}  // namespace bowfree
