// Exact search: the best graph of a space with small districts, with a proof or a bound.
//
// The score is a sum over districts, so the best graph is a best choice of districts with their
// parents whose directed edges have a topological order. Write value(C) for the contribution of a
// district C with given edges, and P for a prefix of the order, the nodes placed so far.
//
// DAGs. Every node v is a district. With
//
//     single(v | P) = max value of v with parents in P,
//     rest(P)       = max over v not in P of single(v | P) + rest(P + v),
//
// rest(empty) is the best score: dynamic programming over the 2^d subsets.
//
// Larger districts. Choose an order of the nodes of a graph. Let the last member c of a district
// close it, at a prefix R that contains the other members and all parents of the district. The
// other members t count single(t | P_t), and c counts the remainder
//
//     closing(C, c) = value(C) - sum_t single(t | P_t).
//
// If c closes at a prefix P, this is at most the maximum of closing(C, c) over the districts with
// R inside P. Forgetting which of the other members are used and when they were placed gives a
// relaxation: c counts single(c | P), or the largest closing(C, c) with R inside P. Its best order
// is found by dynamic programming over subsets and the number of nodes that no district has claimed
// so far: an upper bound of all scores. (In the relaxation single nodes may have any number of
// parents. Otherwise districts would seem better than they are, because their members see the
// parents of each other.)
//
// The triples (c, R, number of members) are the *cells*. The best order that passes through a cell
// bounds all graphs with a district in it, so cells whose bound is below the score of a known graph
// are empty. Districts are bounded before they are fitted: removing a member c without children in
// the district,
//
//     loglik(C) <= loglik(C - c) + loglik(c | the rest of C and the parents of C),
//
// because the right-hand side is the likelihood of a larger model. Pairs within larger districts
// are fitted, from several starts. Cells are opened in the order of their bounds, and districts are
// fitted only if their bounds exceed the known score.
//
// What remains are few districts. A* search over states (nodes placed, districts begun) with the
// relaxation as heuristic finds the best graph that consists of them and of single nodes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "graph/graph.hpp"
#include "model/scorer.hpp"
#include "space/rules.hpp"
#include "stop.hpp"

namespace bowfree {

struct ExactOptions {
    int max_district = 2;
    int max_parents = 3;      ///< of every node
    double tolerance = 1e-9;  ///< graphs that are better by less are not looked for
    /// In multiplications, approximately: the same on every machine.
    double work_limit = std::numeric_limits<double>::infinity();
};

struct ExactResult {
    std::optional<Graph> graph;  ///< a graph better than the given score, the best one found
    double score = 0.0;          ///< its score, or the given one
    double bound = 0.0;          ///< no graph of the space has a score above this
    bool proved = false;         ///< `score` is the best of the space, within the tolerance
    std::int64_t cells = 0;      ///< cells opened
    std::int64_t bounded = 0;    ///< districts bounded one by one
    std::int64_t fitted = 0;     ///< districts fitted
    std::int64_t kept = 0;       ///< districts that may be part of a better graph
    std::int64_t states = 0;     ///< states of the dynamic program or of A* search
    double work = 0.0;           ///< in the units of the limit
};

/// The largest number of nodes.
inline constexpr int exact_limit = 20;
/// The largest `max_district`.
inline constexpr int exact_district_limit = 6;

/// Searches the graphs that satisfy the rules about pairs and nodes (knowledge, DAGs, bidirected
/// graphs, in-degree) and the options; rules about the whole graph are ignored. `score` is that of a
/// known graph, or -infinity. Data with interventions require districts of one node. When `stop` is
/// raised or the work limit is reached, the best graph so far and a bound are returned.
ExactResult exact_search(Scorer& scorer, const Rules& rules, const ExactOptions& options,
                         double score, const Stop& stop);

}  // namespace bowfree
