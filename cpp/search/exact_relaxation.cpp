#include "search/exact_relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bowfree::exact {

// Lists of chains shorter than this share of all are kept.
constexpr double listed_share = 0.125;
// A round opens this share of the cells that may matter, but at least `least_opened`.
constexpr double opened_share = 0.01;
constexpr int least_opened = 3000;
// Sweeps go on while they close this share of the gap.
constexpr double useful_sweep = 0.1;
constexpr int max_sweeps = 10;
// Far below the best graph, in units of the log-likelihood per observation.
constexpr double far_below = 1.0;

// Steps that close no district.
constexpr std::size_t no_entry = std::numeric_limits<std::size_t>::max();

Relaxation::Relaxation(Space& space)
    : space_(space),
      d_(space.d()),
      all_(space.all()),
      codes_(space.largest() + 1),
      ternary_(std::size_t{1} << d_, 0),
      alone_(space.singles()),
      share_(d_, -infinity) {
    const auto n_sets = static_cast<Set>(std::size_t{1} << d_);
    waiting_of_.assign(n_sets, 0);
    for (Set set = 1; set < n_sets; ++set) {
        std::size_t power = 1;
        for (int i = 0; i < first(set); ++i) power *= 3;
        ternary_[set] = ternary_[set & (set - 1)] + power;
        if (std::popcount(set) >= space.largest()) continue;
        waiting_of_[set] = waiting_sets_.size();
        waiting_sets_.push_back(set);
    }
    const std::size_t n_entries = waiting_sets_.size() * n_sets * d_;
    closing_.assign(n_entries, -infinity);
    passing_.assign(n_entries, -infinity);
    rest_.resize(2 * ternary_[all_] + 1);
    before_.resize(rest_.size());
    live_.resize(n_sets);
    for (Set placed = 0; placed < n_sets; ++placed)
        each_subset(placed, [&](Set waiting) { live_[placed].push_back(waiting); });
    for (int v = 0; v < d_; ++v)
        each_subset(all_ ^ bit(v), [&](Set set) {
            // Shares begin with any number of parents, because members of a district see the
            // parents of each other.
            if (space.single(v, set) > -infinity)
                share_.at(v, set) = space.loglik(v, set) - space.cost() * std::popcount(set);
            if (!space.may_be_alone(v)) alone_.at(v, set) = -infinity;
        });
    share_.spread_to_supersets();
    for (int size = 2; size <= space.largest(); ++size) {
        Codes& codes = codes_[size];
        codes.n_codes = 1;
        for (int j = 0; j < d_ - size; ++j) codes.n_codes *= size + 1;
        codes.fresh.resize(codes.n_codes);
        for (std::size_t code = 0; code < codes.n_codes; ++code) {
            std::size_t digits = code;
            for (int j = 0; j < d_ - size; ++j, digits /= size + 1)
                if (const auto digit = digits % (size + 1); digit != 0)
                    codes.fresh[code][size - digit] |= 1U << j;
        }
        Block block;
        add_blocks(block, size);
    }
}

/// Adds the blocks with further members.
void Relaxation::add_blocks(Block& block, int size) {
    Set members = 0;
    for (int i = 0; i < block.size; ++i) members |= bit(block.members[i]);
    if (block.size == size) {
        if (!space_.may_be_district(members)) return;
        block.waiting = waiting_of_[members ^ bit(block.members[size - 1])];
        blocks_.push_back(block);
        return;
    }
    each(all_ & ~members, [&](int v) {
        block.members[block.size++] = v;
        add_blocks(block, size);
        --block.size;
    });
}

/// Numbers the nodes outside of the block, for `prefixes_of`.
void Relaxation::number_nodes(const Block& block) {
    Set others = all_;
    for (int i = 0; i < block.size; ++i) others ^= bit(block.members[i]);
    nodes_.assign(std::size_t{1} << std::popcount(others), 0);
    std::size_t known = 1;
    each(others, [&](int v) {
        for (std::size_t set = 0; set < known; ++set) nodes_[known + set] = nodes_[set] | bit(v);
        known *= 2;
    });
}

Relaxation::Prefixes Relaxation::prefixes_of(const Block& block, std::size_t code) const {
    Prefixes prefixes{};
    Set placed = 0;
    for (int i = 0; i < block.size; ++i) {
        placed |= nodes_[codes_[block.size].fresh[code][i]];
        prefixes[i] = placed;
        placed |= bit(block.members[i]);
    }
    return prefixes;
}

Chain Relaxation::chain_of(const Block& block, std::size_t code) const {
    Chain chain{block.size, block.members, {}, prefixes_of(block, code)};
    for (int i = 0; i < block.size; ++i) chain.fresh[i] = nodes_[codes_[block.size].fresh[code][i]];
    return chain;
}

/// Replaces every value by the largest one of the codes with smaller digits, or with larger ones
/// unless `up`.
void Relaxation::spread(int size, std::vector<double>& values, bool up) {
    const std::size_t base = size + 1;
    for (std::size_t width = 1; width < values.size(); width *= base)
        for (std::size_t start = 0; start < values.size(); start += width * base)
            for (std::size_t step = 1; step < base; ++step) {
                double* from = &values[start + (up ? step - 1 : base - step) * width];
                double* to = up ? from + width : from - width;
                for (std::size_t k = 0; k < width; ++k) to[k] = std::max(to[k], from[k]);
            }
}

/// The largest values of the districts of all chains of the block, into `values_`.
void Relaxation::fill_values(const Block& block) {
    space_.check(static_cast<double>(block.bounds.size()) * (d_ - block.size));
    values_.assign(block.bounds.begin(), block.bounds.end());
    for (const auto& [code, best] : block.opened) values_[code] = best.value;
    spread(block.size, values_, true);
}

/// Calls `visit(prefixes, value)` for the chains that may be part of a better graph.
template <class Visit>
void Relaxation::each_chain(const Block& block, Visit&& visit) {
    if (block.listed && block.chains.empty()) return;
    number_nodes(block);
    if (block.listed) {
        space_.check(static_cast<double>(block.chains.size()) * block.size);
        for (const auto& [code, value] : block.chains) visit(prefixes_of(block, code), value);
        return;
    }
    fill_values(block);
    space_.check(static_cast<double>(values_.size()) * block.size);
    for (std::size_t code = 0; code < values_.size(); ++code)
        if (values_[code] > -infinity) visit(prefixes_of(block, code), values_[code]);
}

double Relaxation::value_of_waiting(const Block& block, const Prefixes& prefixes) const {
    double value = 0.0;
    for (int i = 0; i + 1 < block.size; ++i) value += share(block.members[i], prefixes[i]);
    return value;
}

void Relaxation::bound_cells() {
    for (Block& block : blocks_) {
        number_nodes(block);
        block.bounds.resize(codes_[block.size].n_codes);
        for (std::size_t code = 0; code < block.bounds.size(); ++code) {
            const double bound = space_.bound_of(chain_of(block, code));
            auto rounded = static_cast<float>(bound);
            if (rounded < bound)
                rounded = std::nextafter(rounded, std::numeric_limits<float>::max());
            block.bounds[code] = rounded;
        }
        space_.check(10.0 * static_cast<double>(block.bounds.size()) * block.size);
    }
}

/// The largest closings of all districts, after a change of the shares of some nodes.
void Relaxation::update_closings(Set changed) {
    const std::size_t n_sets = waiting_sets_.size();
    for (std::size_t begin = 0; begin < closing_.size(); begin += n_sets)
        for (std::size_t k = 0; k < n_sets; ++k)
            if (waiting_sets_[k] & changed) closing_[begin + k] = -infinity;
    for (const Block& block : blocks_) {
        if (!(waiting_sets_[block.waiting] & changed)) continue;
        const int k = block.size - 1;
        each_chain(block, [&](const Prefixes& prefixes, double value) {
            double& closing = closing_[entry(block.members[k], prefixes[k], block.waiting)];
            closing = std::max(closing, value - value_of_waiting(block, prefixes));
        });
    }
}

/// The steps from the states after a prefix: a node is a district by itself, waits, or closes a
/// district.
void Relaxation::fill_steps(Set placed) {
    steps_.clear();
    each(all_ & ~placed, [&](int v) {
        const auto next = static_cast<std::ptrdiff_t>(ternary_[bit(v)]);
        steps_.push_back({0, alone_.at(v, placed), next, no_entry});
        steps_.push_back({0, share_.at(v, placed), 2 * next, no_entry});
        const std::size_t begin = entry(v, placed, 0);
        for (std::size_t k = 0; k < waiting_sets_.size(); ++k) {
            const Set others = waiting_sets_[k];
            if (closing_[begin + k] > -infinity)
                steps_.push_back({others, closing_[begin + k],
                                  next - static_cast<std::ptrdiff_t>(ternary_[others]), begin + k});
        }
    });
}

/// The best orders of the nodes after each state. Returns the bound of all graphs.
double Relaxation::fill_rest() {
    std::ranges::fill(rest_, -infinity);
    rest_[state(all_, 0)] = 0.0;
    for (Set placed = all_; placed-- > 0;) {
        fill_steps(placed);
        space_.check(static_cast<double>(live_[placed].size() * steps_.size()));
        for (const Set waiting : live_[placed]) {
            double* here = &rest_[state(placed, waiting)];
            double best = -infinity;
            for (const Step& step : steps_)
                if (!(step.others & ~waiting)) best = std::max(best, step.value + here[step.next]);
            *here = best;
        }
    }
    bound_ = rest_[0];
    space_.lower_bound(bound_);
    return bound_;
}

/// The best orders of the nodes before each state, and the best orders through each closing without
/// its own value. States of no better graph are not visited again.
void Relaxation::fill_before() {
    std::ranges::fill(before_, -infinity);
    std::ranges::fill(passing_, -infinity);
    before_[0] = 0.0;
    for (Set placed = 0; placed < all_; ++placed) {
        auto& live = live_[placed];
        std::erase_if(live, [&](Set waiting) {
            const std::size_t k = state(placed, waiting);
            return !(before_[k] + rest_[k] > space_.threshold());
        });
        fill_steps(placed);
        space_.check(static_cast<double>(live.size() * steps_.size()));
        for (const Set waiting : live) {
            const std::size_t k = state(placed, waiting);
            const double* rest = &rest_[k];
            double* before = &before_[k];
            for (const Step& step : steps_) {
                if (step.others & ~waiting) continue;
                before[step.next] = std::max(before[step.next], *before + step.value);
                if (step.entry == no_entry) continue;
                passing_[step.entry] = std::max(passing_[step.entry], *before + rest[step.next]);
            }
        }
    }
}

/// Makes orders in which t waits after a prefix, and districts in which it has waited there, equally
/// good. This never raises the bound.
void Relaxation::raise_shares(int t) {
    Table waits(d_, -infinity), closes(d_, -infinity);
    each_subset(all_ ^ bit(t), [&](Set placed) {
        const double share = share_.at(t, placed);
        double& best = waits.at(t, placed);
        for (const Set waiting : live_[placed])
            best = std::max(best, before_[state(placed, waiting)] + share +
                                      rest_[state(placed | bit(t), waiting | bit(t))]);
    });
    for (const Block& block : blocks_) {
        if (!has(waiting_sets_[block.waiting], t)) continue;
        const int k = block.size - 1;
        const int i = static_cast<int>(std::ranges::find(block.members, t) - block.members.begin());
        each_chain(block, [&](const Prefixes& prefixes, double value) {
            double& best = closes.at(t, prefixes[i]);
            best =
                std::max(best, value - value_of_waiting(block, prefixes) +
                                   passing_[entry(block.members[k], prefixes[k], block.waiting)]);
        });
    }
    const double least = bound_ - far_below;
    each_subset(all_ ^ bit(t), [&](Set placed) {
        share_.at(t, placed) +=
            0.5 * (std::max(closes.at(t, placed), least) - std::max(waits.at(t, placed), least));
    });
}

void Relaxation::sweep() {
    for (int t = 0; t < d_; ++t) {
        fill_before();
        raise_shares(t);
        update_closings(bit(t));
        fill_rest();
    }
}

/// By code, into `slacks_`: by how much the best order through a chain, or one with larger digits,
/// is better than the known graph, without the value of the district.
void Relaxation::fill_slacks(const Block& block) {
    const int k = block.size - 1;
    number_nodes(block);
    space_.check(static_cast<double>(block.bounds.size()) * d_);
    slacks_.resize(block.bounds.size());
    for (std::size_t code = 0; code < slacks_.size(); ++code) {
        const Prefixes prefixes = prefixes_of(block, code);
        const double passing = passing_[entry(block.members[k], prefixes[k], block.waiting)];
        slacks_[code] = passing > -infinity
                            ? passing - value_of_waiting(block, prefixes) - space_.threshold()
                            : -infinity;
    }
}

/// Lists the chains that may be part of a better graph if they are few. The others are not used
/// any more, so a list becomes shorter only.
void Relaxation::list_chains(Block& block) const {
    const auto matters = [&](std::size_t code) { return values_[code] + slacks_[code] > 0.0; };
    if (block.listed) {
        std::erase_if(block.chains, [&](const auto& entry) { return !matters(entry.first); });
        return;
    }
    std::size_t n = 0;
    for (std::size_t code = 0; code < values_.size(); ++code) n += matters(code);
    block.listed = static_cast<double>(n) < listed_share * static_cast<double>(values_.size());
    if (!block.listed) return;
    block.chains.reserve(n);
    for (std::size_t code = 0; code < values_.size(); ++code)
        if (matters(code))
            block.chains.emplace_back(static_cast<std::uint32_t>(code), values_[code]);
}

/// Removes cells that contain no district of a better graph. Returns whether closed ones are left,
/// and decides which of them to open.
bool Relaxation::remove_cells() {
    constexpr int n_bins = 1000;
    const double gap = bound_ - space_.threshold();
    std::vector<std::int64_t> closed(n_bins, 0);  // cells by excess
    for (Block& block : blocks_) {
        if (block.listed && block.chains.empty()) continue;
        fill_values(block);
        fill_slacks(block);
        list_chains(block);
        spread(block.size, slacks_, false);
        std::erase_if(block.opened, [&](const auto& entry) {
            return !(entry.second.value + slacks_[entry.first] > 0.0);
        });
        for (std::size_t code = 0; code < slacks_.size(); ++code) {
            const double excess = block.bounds[code] + slacks_[code];
            if (!(excess > 0.0)) {
                block.bounds[code] = -std::numeric_limits<float>::infinity();
                continue;
            }
            const double share = std::isfinite(gap) ? std::clamp(excess / gap, 0.0, 1.0) : 1.0;
            ++closed[static_cast<int>(share * (n_bins - 1))];
        }
    }
    std::int64_t n_closed = 0, n_above = 0;
    for (const auto n : closed) n_closed += n;
    const auto wanted = std::max<std::int64_t>(
        least_opened, static_cast<std::int64_t>(opened_share * static_cast<double>(n_closed)));
    int lowest = n_bins;
    while (lowest > 0 && n_above < wanted) n_above += closed[--lowest];
    // One bin more, so that rounding errors cannot exclude all cells.
    least_excess_ = std::isfinite(gap) ? gap * (lowest - 1) / (n_bins - 1) : -infinity;
    return n_closed > 0;
}

/// Finds the best districts of the cells with the largest bounds.
void Relaxation::open_cells() {
    for (Block& block : blocks_) {
        if (block.listed && block.chains.empty()) continue;
        fill_slacks(block);
        spread(block.size, slacks_, false);
        for (std::size_t code = 0; code < slacks_.size(); ++code) {
            const double excess = block.bounds[code] + slacks_[code];
            if (!(excess > 0.0) || excess < least_excess_) continue;
            ++space_.found().cells;
            block.bounds[code] = -std::numeric_limits<float>::infinity();
            if (auto best = space_.best_of(chain_of(block, code), -slacks_[code]))
                block.opened.emplace_back(static_cast<std::uint32_t>(code), *best);
        }
        if (!block.listed) continue;
        fill_values(block);
        for (auto& [code, value] : block.chains) value = values_[code];
        std::erase_if(block.chains, [](const auto& entry) { return entry.second == -infinity; });
    }
}

void Relaxation::run() {
    double saturated = 0.0;
    for (int v = 0; v < d_; ++v) saturated += space_.loglik(v, bit(v) - 1);
    space_.lower_bound(saturated);
    bound_cells();
    for (int round = 0;; ++round) {
        // A sweep takes longer than many fits of pairs.
        const int most = space_.largest() > 2 ? max_sweeps : std::min(round, 1);
        update_closings(all_);
        double bound = fill_rest();
        for (int k = 0; k < most && bound > space_.threshold(); ++k) {
            const double before = bound;
            sweep();
            bound = bound_;
            if (!(before - bound > useful_sweep * (bound - space_.threshold()))) break;
        }
        if (!(bound > space_.threshold())) return;
        fill_before();
        if (!remove_cells()) return;
        open_cells();
    }
}

std::vector<Kept> Relaxation::districts() {
    std::vector<Kept> found;
    for (const Block& block : blocks_) {
        number_nodes(block);
        for (const auto& [code, best] : block.opened)
            found.push_back({chain_of(block, code), best});
    }
    return found;
}

}  // namespace bowfree::exact
