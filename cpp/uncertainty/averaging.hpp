// Averages over the equivalence classes of graphs: which graphs are equivalent, and sums of effects
// and edges over the members of each class.
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

/// Weighted sums over graphs, d x d, row-major. Entry [i, j] is about the effect of j on i, or the
/// edge j -> i. Diagonals are not used.
struct GraphSums {
    explicit GraphSums(int d);
    void add(const GraphSums& other, double scale, const Batches& shares = {});

    std::vector<double> positive, negative;    ///< of graphs with such an effect
    std::vector<double> directed, bidirected;  ///< of graphs with such an edge
    std::vector<double> without_se;            ///< of graphs whose effect has no standard error
    std::vector<EffectMixture> mixtures;       ///< of effects with a standard error
};

/// Weighted sums over classes, d x d.
struct ClassSums {
    explicit ClassSums(int d);
    std::vector<double> all_members;       ///< of classes whose smallest absolute effect is not 0
    std::vector<double> min_abs, max_abs;  ///< of the absolute effect over the class
};

/// Options of an average.
struct AverageOptions {
    double n;                             ///< observations, for the standard errors
    ClassOptions members;                 ///< `limit`: for each component of the skeleton
    std::vector<std::uint8_t> knowledge;  ///< which members count, as in `Rules`; empty: all
};

/// Graphs of one class, with their weights.
struct WeightedClass {
    std::vector<Graph> graphs;   ///< members that were sampled
    std::vector<double> shares;  ///< their weights
    Batches batches{};           ///< the share of the class's weight that each batch has
    /// The weight of the class is the sum of the shares times this power of the number of members.
    int power = 0;
};

/// The contribution of a class.
struct ClassPart {
    double weight = 0.0;
    std::vector<std::uint64_t> components;  ///< members of each component of the skeleton
    bool complete = true;                   ///< false when limit or stop cut one of them
};

/// Effects in a graph that were estimated elsewhere, zero on the diagonal, and their standard errors,
/// d x d. Null: the counter estimates them.
struct GivenEffects {
    const double* effects = nullptr;
    const double* errors = nullptr;
};

/// Adds a graph with its weight, of which each batch has a share.
void add_graph(EffectCounter& counter, const Graph& graph, double weight,
               const AverageOptions& options, GraphSums& sums, const Batches& shares = {},
               GivenEffects given = {});

/// Adds a class, whose weight is divided equally among the permitted members. If there are more
/// members than the limit, the sampled graphs represent the class, because the first members of an
/// enumeration are not a random sample. `stop` ends the enumeration, except that of the first
/// member of each component, which only `first_stop` ends; then nothing is added and `Stopped` is
/// thrown.
ClassPart add_class(EffectCounter& counter, const WeightedClass& weighted,
                    const AverageOptions& options, GraphSums& sums, ClassSums& class_sums,
                    const Stop& stop, const Stop& first_stop);

}  // namespace bowfree
