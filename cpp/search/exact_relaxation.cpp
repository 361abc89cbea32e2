#include "search/exact_relaxation.hpp"

#include <utility>

namespace bowfree::exact {

/// Bounds of all cells, from the other members alone.
void Relaxation::bound_cells() {
    const int d = space_.d();
    const Set all = space_.all();
    group_best_.assign(space_.largest(), std::vector<double>(std::size_t{1} << d, -infinity));
    for (int k = 1; k < space_.largest(); ++k) {
        auto& group_best = group_best_[k];
        for (Set group = 1; group <= all; ++group)
            space_.each_group_member(group, k, [&](Set others) {
                group_best[group] = std::max(group_best[group], space_.closing_of_others(others));
            });
        for (int c = 0; c < d; ++c)
            each_subset(all ^ bit(c), [&](Set prefix) {
                space_.check(static_cast<double>(std::size_t{1} << std::popcount(prefix)));
                double best = -infinity;
                each_subset(prefix, [&](Set group) {
                    const int own = std::popcount(prefix & ~group);
                    if (own > space_.max_parents()) return;
                    best = std::max(best, group_best[group] - space_.cost() * own);
                });
                best += space_.loglik(c, prefix);
                if (best > -infinity) cells_.push_back({c, k + 1, prefix, best, best});
            });
    }
}

/// The relaxation from the bounds of the cells. Beside the prefix it counts the nodes that no
/// district has claimed so far: a closing of size k claims k - 1 of them.
void Relaxation::relax() {
    const int d = space_.d();
    const Set all = space_.all();
    closing_.assign(space_.largest() + 1, Table(d, -infinity));
    closing_[1] = space_.shares();
    for (const Cell& cell : cells_) {
        double& value = closing_[cell.size].at(cell.c, cell.prefix);
        value = std::max(value, cell.closing);
    }
    for (int k = 2; k <= space_.largest(); ++k) closing_[k].spread_to_supersets();
    const std::size_t width = d + 1;
    std::vector<double> rest(width << d, -infinity), before(width << d, -infinity);
    for (int u = 0; u <= d; ++u) rest[all * width + u] = 0.0;
    before[0] = 0.0;
    const auto each_step = [&](Set placed, int u, auto&& visit) {
        each(all & ~placed, [&](int v) {
            for (int k = 1; k <= std::min(space_.largest(), u + 1); ++k) {
                const int left = k == 1 ? u + 1 : u - k + 1;
                visit((placed | bit(v)) * width + left, closing_[k].at(v, placed));
            }
        });
    };
    for (Set placed = all; placed-- > 0;) {
        space_.check(2.0 * d * d * space_.largest());
        for (int u = 0; u <= std::popcount(placed); ++u) {
            double& best = rest[placed * width + u];
            each_step(placed, u, [&](std::size_t next, double value) {
                best = std::max(best, value + rest[next]);
            });
        }
    }
    for (Set placed = 0; placed < all; ++placed)
        for (int u = 0; u <= std::popcount(placed); ++u) {
            const double here = before[placed * width + u];
            each_step(placed, u, [&](std::size_t next, double value) {
                before[next] = std::max(before[next], here + value);
            });
        }
    passing_.assign(space_.largest() + 1, Table(d, -infinity));
    for (int k = 2; k <= space_.largest(); ++k) {
        for (int c = 0; c < d; ++c)
            each_subset(all ^ bit(c), [&](Set prefix) {
                double& best = passing_[k].at(c, prefix);
                for (int u = k - 1; u <= std::popcount(prefix); ++u)
                    best = std::max(best, before[prefix * width + u] +
                                              rest[(prefix | bit(c)) * width + u - k + 1]);
            });
        passing_[k].spread_to_subsets();
    }
    space_.lower_bound(rest[0]);
}

/// What a closing in the cell must exceed to be part of a better graph.
double Relaxation::needed(const Cell& cell) const {
    return space_.threshold() - passing_[cell.size].at(cell.c, cell.prefix);
}

std::vector<Kept> Relaxation::list_districts() {
    bound_cells();
    for (;;) {
        relax();
        std::erase_if(cells_, [&](const Cell& cell) { return !(cell.bound > needed(cell)); });
        std::vector<Cell*> closed;
        for (Cell& cell : cells_)
            if (!cell.open && cell.bound > space_.share(cell.c, cell.prefix))
                closed.push_back(&cell);
        if (closed.empty()) break;
        // Those with the best bounds first, then bound again.
        const auto excess = [&](const Cell* cell) { return cell->bound - needed(*cell); };
        std::ranges::sort(closed,
                          [&](const Cell* a, const Cell* b) { return excess(a) > excess(b); });
        closed.resize((closed.size() + 15) / 16);
        for (Cell* cell : closed) {
            ++space_.found().cells;
            const double least = std::max(needed(*cell), space_.share(cell->c, cell->prefix));
            double best = least;
            each_district(*cell, best, [&](const Candidate&, double closing) {
                best = std::max(best, closing);
            });
            cell->open = true;
            cell->closing = best > least ? best : -infinity;
        }
    }
    std::vector<Kept> kept;
    for (Cell& cell : cells_) {
        const double least = needed(cell);
        each_district(cell, least, [&](const Candidate& candidate, double closing) {
            kept.push_back({candidate, cell.c, cell.prefix, closing});
        });
    }
    return kept;
}

/// Calls `visit(district, closing)` for the districts of the cell with a closing above `least`,
/// which may rise meanwhile.
void Relaxation::each_district(const Cell& cell, const double& least,
                               const Space::OnDistrict& visit) {
    const double own = space_.loglik(cell.c, cell.prefix);
    each_subset(cell.prefix, [&](Set group) {
        const Set uncovered = cell.prefix & ~group;
        const int n_uncovered = std::popcount(uncovered);
        if (n_uncovered > space_.max_parents()) return;
        const double base = own - space_.cost() * n_uncovered;
        if (!(group_best_[cell.size - 1][group] + base > least)) return;
        space_.each_group_member(group, cell.size - 1, [&](Set others) {
            const double bound = space_.closing_of_others(others) + base;
            if (bound > least && bound > space_.closing_of_singles(cell.c, cell.prefix, others))
                space_.each_district_with(cell.c, cell.prefix, others, uncovered, least, visit);
        });
    });
}

}  // namespace bowfree::exact
