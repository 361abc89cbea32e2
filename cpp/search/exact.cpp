#include "search/exact.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "search/exact_states.hpp"

namespace bowfree {

namespace {

/// The best DAG: dynamic programming over the subsets of nodes.
void search_dags(exact::Space& space) {
    using exact::Set, exact::bit, exact::each;
    const Set all = space.all();
    std::vector<double> rest(std::size_t{1} << space.d());
    std::vector<int> next(rest.size(), -1);  // the best node after each prefix
    for (Set placed = all; placed-- > 0;) {
        space.check(space.d());
        double best = -exact::infinity;
        each(all & ~placed, [&](int v) {
            const double value = space.single(v, placed) + rest[placed | bit(v)];
            if (next[placed] >= 0 && !(value > best)) return;
            best = value;
            next[placed] = v;
        });
        rest[placed] = best;
    }
    space.found().states = static_cast<std::int64_t>(rest.size());
    if (!(rest[0] > space.threshold())) return;
    Graph graph(space.d());
    for (Set placed = 0; placed != all; placed |= bit(next[placed])) {
        const int v = next[placed];
        each(space.best_parents(v, placed), [&](int p) { graph.add_directed(p, v); });
    }
    space.accept(std::move(graph));
}

}  // namespace

double count_cells(int d, int max_district) {
    double total = 0.0, orders = d;
    for (int k = 2; k <= std::min(d, max_district); ++k) {
        orders *= d - k + 1;
        total += orders * std::pow(k + 1, d - k);
    }
    return total;
}

ExactResult exact_search(Scorer& scorer, const Rules& rules, const ExactOptions& options,
                         double score, const Stop& stop) {
    ExactResult found;
    found.score = score;
    found.bound = exact::infinity;
    try {
        exact::Space space(scorer, rules, options, found, stop);
        if (space.largest() == 1) {
            search_dags(space);
        } else {
            exact::Relaxation relaxation(space);
            relaxation.run();
            exact::StateSearch(space, relaxation).run();
        }
        found.work = space.work();
        found.proved = true;
        found.bound = found.score;
    } catch (const Stopped&) {
        found.bound = std::max(found.bound, found.score);
    }
    return found;
}

}  // namespace bowfree
