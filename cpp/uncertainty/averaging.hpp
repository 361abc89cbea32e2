// From a pool of graphs to an average over their classes: which graphs are equivalent, and what the
// members of each class say about effects and edges.
#pragma once

#include <cstdint>
#include <vector>

#include "effects/bounds.hpp"
#include "equivalence/classes.hpp"
#include "graph/graph.hpp"
#include "stop.hpp"
#include "uncertainty/effect_mixture.hpp"

namespace bowfree {

/// For each BAP, the index of the first one in the list that is equivalent to it. Candidates share
/// skeleton and v-structures (Corollary "necessary"); among them the exact test decides.
std::vector<int> first_equivalents(const std::vector<Graph>& graphs, std::uint64_t seed,
                                   const Stop& stop);

/// Weighted sums over classes, d x d, row-major. Effects: [i, j] is that of j on i; edges: [i, j]
/// of `directed` is j -> i.
struct ClassAverage {
    explicit ClassAverage(int d);
    ClassAverage& operator+=(const ClassAverage& other);

    std::vector<double> all_members;                 ///< of classes whose smallest effect is not 0
    std::vector<double> min_abs, mean_abs, max_abs;  ///< of the absolute effect over the class
    std::vector<double> mean;                        ///< effect
    std::vector<double> positive, negative;          ///< share of members with such an effect
    std::vector<double> directed, bidirected;        ///< share of members with such an edge
    std::vector<EffectMixture> laws;                 ///< of the effects, members counted
};

struct ClassSize {
    std::vector<std::uint64_t> components;  ///< members of each component of the skeleton
    bool complete = true;                   ///< false when limit or stop cut one of them
};

/// Adds the exact class of a BAP with its weight. At most `limit` members of each component are
/// looked at, and of these the ones that `knowledge` permits (as in `Rules`; empty: all). `stop`
/// cuts the class where it is; only `first_stop` ends the work on the first member of a component.
/// When one of these is missing, nothing is added and `Stopped` comes out. An effect is zero when
/// its absolute value is at most `zero`; standard errors are those of `n` observations.
ClassSize add_class(EffectCounter& counter, const Graph& graph, double weight, double n,
                    const ClassOptions& options, const std::vector<std::uint8_t>& knowledge,
                    double zero, ClassAverage& average, const Stop& stop, const Stop& first_stop);

}  // namespace bowfree
