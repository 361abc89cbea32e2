// From graphs to an average over their classes: which graphs are equivalent, and what the members
// of each class say about effects and edges.
#pragma once

#include <cstdint>
#include <vector>

#include "effects/bounds.hpp"
#include "equivalence/classes.hpp"
#include "graph/graph.hpp"
#include "stop.hpp"
#include "uncertainty/effect_mixture.hpp"

namespace bowfree {

/// For each BAP, the index of the first one in the list that is equivalent to it under all of the
/// conditions; without any, under one without targets. Candidates share skeleton and v-structures
/// (Corollary "necessary"); among them the exact test decides. As in `ClassOptions`, the conditions
/// must show every edge.
std::vector<int> first_equivalents(const std::vector<Graph>& graphs, const Conditions& conditions,
                                   std::uint64_t seed, const Stop& stop);

/// Weighted sums of what graphs say, d x d, row-major. Effects: [i, j] is that of j on i; edges:
/// [i, j] of `directed` is j -> i. The diagonal is left alone.
struct GraphSums {
    explicit GraphSums(int d);
    void add(const GraphSums& other, double scale);

    std::vector<double> mean, mean_abs;        ///< of the effect, and of its absolute value
    std::vector<double> positive, negative;    ///< of graphs with such an effect
    std::vector<double> directed, bidirected;  ///< of graphs with such an edge
    std::vector<double> without_se;            ///< of graphs whose effect has no standard error
    std::vector<EffectMixture> laws;           ///< of the effects that have one
};

/// Weighted sums of what can only be said of a class as a whole, d x d like the others.
struct ClassSums {
    explicit ClassSums(int d);
    std::vector<double> all_members;       ///< of classes whose smallest absolute effect is not 0
    std::vector<double> min_abs, max_abs;  ///< of the absolute effect over the class
};

/// What stays the same from class to class.
struct AverageOptions {
    double n;                             ///< observations, for the standard errors
    ClassOptions members;                 ///< `limit`: for each component of the skeleton
    std::vector<std::uint8_t> knowledge;  ///< which members count, as in `Rules`; empty: all
};

/// A class, as it takes part in an average.
struct ClassVotes {
    std::vector<Graph> graphs;   ///< those of the class that were met
    std::vector<double> shares;  ///< of each
    /// The weight of the class is the sum of the shares times this power of the number of members.
    int power = 0;
};

/// The part that a class had.
struct ClassPart {
    double weight = 0.0;
    std::vector<std::uint64_t> components;  ///< members of each component of the skeleton
    bool complete = true;                   ///< false when limit or stop cut one of them
};

/// Adds a graph with its weight.
void add_graph(EffectCounter& counter, const Graph& graph, double weight,
               const AverageOptions& options, GraphSums& sums);

/// Adds a class: every permitted member has an equal part in its weight. When there are more
/// members than the limit, the graphs that were met speak for all, since the first few of an
/// enumeration are no fair sample. `stop` cuts the class where it is; only `first_stop` ends the
/// work on the first member of a component. When one of these is missing, nothing is added and
/// `Stopped` comes out.
ClassPart add_class(EffectCounter& counter, const ClassVotes& votes, const AverageOptions& options,
                    GraphSums& sums, ClassSums& class_sums, const Stop& stop,
                    const Stop& first_stop);

}  // namespace bowfree
