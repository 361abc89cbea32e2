#include "effects/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dense.hpp"
#include "graph/district.hpp"
#include "model/information.hpp"

namespace bowfree {

// Numbers in the caches, about: 240 MB. A large district has 100,000, a pair of small ones a dozen.
constexpr std::size_t most_numbers = 30'000'000, numbers_per_pair = 12;

EffectTally::EffectTally(int d) {
    const std::size_t size = static_cast<std::size_t>(d) * d;
    for (auto* matrix : {&lower, &min_abs}) matrix->assign(size, infinity);
    upper.assign(size, -infinity);
    for (auto* matrix : {&max_abs, &sum, &sum_abs, &positive, &negative}) matrix->assign(size, 0.0);
}

EffectCounter::EffectCounter(JointData data, double path_sign, double zero,
                             std::size_t max_districts, bool variances, std::vector<double> gamma,
                             std::vector<int> sizes)
    : data_(std::move(data)),
      d_(data_.d),
      path_sign_(path_sign),
      zero_(zero),
      gamma_(std::move(gamma)),
      sizes_(std::move(sizes)),
      first_(sizes_.size()),
      sd_(data_.d),
      max_districts_(max_districts),
      variances_(variances),
      fitter_(data_),
      tally_(d_),
      B_(static_cast<std::size_t>(d_) * d_),
      E_(B_.size()) {
    std::exclusive_scan(sizes_.begin(), sizes_.end(), first_.begin(), 0);
    for (int v = 0; v < d_; ++v) {
        double variance = 0.0;
        for (const ConditionData& condition : data_.conditions)
            variance += condition.weight * condition.S[v * data_.width() + v];
        sd_[v] = std::sqrt(variance);
    }
}

void EffectCounter::use_stop(const Stop& stop) {
    stop_ = &stop;
    fitter_ = DistrictFitter(data_, &stop);
}

void EffectCounter::make_room() {
    if (known_.size() < max_districts_ && n_numbers_ < most_numbers) return;
    known_.clear();
    between_.clear();
    n_numbers_ = 0;
}

const EffectCounter::Rows& EffectCounter::rows_of(const Graph& graph,
                                                  const std::vector<int>& district) {
    const Key key = rows_key(graph, district);
    const auto place = known_.find(key);
    if (place != known_.end()) return place->second;
    if (stop_ != nullptr) stop_->check();
    const District local = data_.district(graph, district);
    const DistrictFit fit = fitter_.fit(local, estimates_only);
    ++n_fits_;
    const std::uint64_t m = local.m();
    work_ += m * m * m * fit.n_iter;
    n_uncertified_ += !fit.converged;
    Rows rows;
    rows.number = n_fits_;
    rows.objective = fit.objective;
    if (variances_ && gamma_.empty()) {
        rows.covariance = coefficient_covariance(data_, local, fit);
    } else if (variances_) {
        rows.slopes = coefficient_slopes(data_, local, fit);
        for (int i = 0; i < local.m(); ++i)
            for (int j = 0; j <= i; ++j) {
                const auto [low, high] = std::minmax(local.nodes[i], local.nodes[j]);
                rows.entries.push_back(high * (high + 1) / 2 + low);
            }
    }
    // In the order of the covariance matrix: local numbers put members of the district before
    // other parents, so it is not the order of the nodes.
    for (int v = 0; v < local.k; ++v)
        for (const int p : local.parents[v]) {
            if (local.nodes[p] >= d_) continue;  // an intercept
            rows.at.emplace_back(local.nodes[v], local.nodes[p]);
            rows.coefficients.push_back(fit.B[v * local.m() + p]);
        }
    n_numbers_ += rows.covariance.size() + rows.slopes.size();
    return known_.emplace(key, std::move(rows)).first->second;
}

std::vector<int> EffectCounter::columns(const std::vector<int>& nodes) const {
    if (sizes_.empty()) return nodes;
    std::vector<int> found;
    for (const int v : nodes)
        for (int c = 0; c < sizes_[v]; ++c) found.push_back(first_[v] + c);
    return found;
}

double EffectCounter::objective(const Graph& graph) {
    if (!sizes_.empty() && graph.d() != d_) return objective(expand(graph, sizes_));
    make_room();
    return sum_over_districts(graph, [&](const std::vector<int>& district) {
        return rows_of(graph, district).objective;
    });
}

void EffectCounter::add(const Graph& graph, const std::vector<int>& nodes) {
    if (sizes_.empty())
        add_columns(graph, nodes);
    else
        add_columns(expand(graph, sizes_), columns(nodes));
}

void EffectCounter::share_fit(const Graph* graph) {
    shared_.reset();
    if (graph == nullptr || d_ > SharedFit::max_nodes || !sizes_.empty() || !variances_ ||
        !data_.is_observational())
        return;
    std::vector<double> B(B_.size()), Omega(B_.size());
    for (const auto& members : districts(*graph)) {
        const District local = data_.district(*graph, members);
        const DistrictFit own = fitter_.fit(local, estimates_only);
        if (!own.converged) return;
        for (int v = 0; v < local.k; ++v) {
            for (int j = 0; j < local.m(); ++j)
                B[local.nodes[v] * d_ + local.nodes[j]] = own.B[v * local.m() + j];
            for (int w = 0; w < local.k; ++w)
                Omega[local.nodes[v] * d_ + local.nodes[w]] = own.Omega[v * local.k + w];
        }
    }
    shared_ = SharedFit::of(data_, *graph, B, Omega, gamma_);
}

/// Sets the coefficients of a graph, and the blocks of their covariance matrix.
void EffectCounter::set_coefficients(const Graph& graph, const std::vector<int>& nodes) {
    blocks_.clear();
    if (shared_ && shared_->coefficients(graph, nodes, joint_)) {
        for (std::size_t s = 0; s < joint_.at.size(); ++s)
            B_[joint_.at[s].first * d_ + joint_.at[s].second] = joint_.coefficients[s];
        blocks_.push_back(&joint_);
        return;
    }
    make_room();
    std::vector<const Rows*> dependent;
    std::vector<Word> done(graph.words());
    for (const int v : nodes) {
        if (contains(done.data(), v)) continue;
        const auto district = district_of(graph, v);
        for (const int u : district) insert(done.data(), u);
        const Rows& rows = rows_of(graph, district);
        for (std::size_t s = 0; s < rows.at.size(); ++s)
            B_[rows.at[s].first * d_ + rows.at[s].second] = rows.coefficients[s];
        if (!variances_ || rows.at.empty()) continue;
        // Coefficients of different districts are independent for normal data only. A district
        // without slopes stays by itself, without a covariance matrix.
        if (rows.slopes.empty())
            blocks_.push_back(&rows);
        else
            dependent.push_back(&rows);
    }
    if (!dependent.empty()) join(dependent);
}

void EffectCounter::add_columns(const Graph& graph, const std::vector<int>& nodes) {
    if (stop_ != nullptr) stop_->check();
    set_coefficients(graph, nodes);
    from_ = -1;
    std::vector<Word> wanted(graph.words());
    for (const int v : nodes) insert(wanted.data(), v);
    // Row by row in topological order: an effect that the graph excludes is exactly zero.
    for (const int v : topological_order(graph)) {
        if (!contains(wanted.data(), v)) continue;
        double* row = E_.data() + static_cast<std::size_t>(v) * d_;
        for (const int j : nodes) row[j] = 0.0;
        row[v] = 1.0;
        for_each_node(graph.parents(v), graph.words(), [&](int p) {
            const double b = path_sign_ * B_[v * d_ + p];
            const double* above = E_.data() + static_cast<std::size_t>(p) * d_;
            for (const int j : nodes) row[j] += b * above[j];
        });
    }
    count_effects(nodes);
}

/// Joins the coefficients of some districts into one block.
void EffectCounter::join(const std::vector<const Rows*>& parts) {
    joint_.at.clear();
    for (const Rows* part : parts)
        joint_.at.insert(joint_.at.end(), part->at.begin(), part->at.end());
    const std::size_t p = joint_.at.size();
    joint_.covariance.resize(p * p);
    std::size_t row = 0;
    for (const Rows* a : parts) {
        std::size_t column = 0;
        for (const Rows* b : parts) {
            const double* entry = covariance_between(*a, *b).data();
            for (std::size_t s = 0; s < a->at.size(); ++s)
                for (std::size_t t = 0; t < b->at.size(); ++t)
                    joint_.covariance[(row + s) * p + column + t] =
                        joint_.covariance[(column + t) * p + row + s] = *entry++;
            column += b->at.size();
            if (a == b) break;
        }
        row += a->at.size();
    }
    blocks_.push_back(&joint_);
}

/// The covariances of the coefficients of two districts, or of one: members of a class share most
/// districts, and so most pairs of them.
const std::vector<double>& EffectCounter::covariance_between(const Rows& a, const Rows& b) {
    const auto [place, is_new] = between_.try_emplace(a.number << 32 | b.number);
    std::vector<double>& found = place->second;
    if (!is_new) return found;
    const std::size_t size = static_cast<std::size_t>(d_) * (d_ + 1) / 2;
    const int width = static_cast<int>(b.entries.size());
    std::vector<double> product(width);  // a row of the slopes of a times gamma
    for (std::size_t s = 0; s < a.at.size(); ++s) {
        std::ranges::fill(product, 0.0);
        for (std::size_t e = 0; e < a.entries.size(); ++e) {
            const double slope = a.slopes[s * a.entries.size() + e];
            const double* row = &gamma_[a.entries[e] * size];
            for (int f = 0; f < width; ++f) product[f] += slope * row[b.entries[f]];
        }
        for (std::size_t t = 0; t < b.at.size(); ++t)
            found.push_back(dot(product.data(), &b.slopes[t * width], width));
    }
    n_numbers_ += found.size() + numbers_per_pair;
    return found;
}

double EffectCounter::variance(int i, int j) const {
    if (from_ != j) {
        from_ = j;
        reached_.clear();
        for (const Coefficients* block : blocks_)
            for (std::size_t s = 0; s < block->at.size(); ++s) {
                const auto [child, parent] = block->at[s];
                const double effect = E_[parent * d_ + j];
                if (effect != 0.0) reached_.push_back({block, s, child, effect});
            }
    }
    double total = 0.0;
    for (auto next = reached_.begin(); next != reached_.end();) {
        const Coefficients& block = *next->block;
        slope_.clear();
        for (; next != reached_.end() && next->block == &block; ++next) {
            const double slope = E_[i * d_ + next->child] * next->effect;
            if (slope != 0.0) slope_.emplace_back(next->at, slope);
        }
        if (slope_.empty()) continue;
        if (block.covariance.empty()) return std::numeric_limits<double>::quiet_NaN();
        for (auto left = slope_.begin(); left != slope_.end(); ++left) {
            const double* row = &block.covariance[left->first * block.at.size()];
            double below = 0.0;
            for (auto right = slope_.begin(); right != left; ++right)
                below += right->second * row[right->first];
            total += left->second * (2.0 * below + left->second * row[left->first]);
        }
    }
    return total;
}

void EffectCounter::count_effects(const std::vector<int>& nodes) {
    ++tally_.n_members;
    for (const int i : nodes)
        for (const int j : nodes) {
            const std::size_t at = static_cast<std::size_t>(i) * d_ + j;
            const double effect = E_[at], size = std::abs(effect);
            tally_.lower[at] = std::min(tally_.lower[at], effect);
            tally_.upper[at] = std::max(tally_.upper[at], effect);
            tally_.min_abs[at] = std::min(tally_.min_abs[at], size);
            tally_.max_abs[at] = std::max(tally_.max_abs[at], size);
            tally_.sum[at] += effect;
            tally_.sum_abs[at] += size;
            if (exceeds_zero(i, j, size)) ++(effect > 0.0 ? tally_.positive : tally_.negative)[at];
        }
}

}  // namespace bowfree
