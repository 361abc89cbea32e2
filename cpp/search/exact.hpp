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
// Larger districts. Take any topological order of a graph, and let P_t be the nodes before t. The
// order of the members t_1, ..., t_k of a district and their prefixes P_1, ..., P_k form a *chain*;
// value(chain) is the largest value of the districts on these members, connected by bidirected
// edges, in which the parents of t_i are in P_i. There are d! / (d - k)! * (k + 1)^(d - k) chains of
// k nodes, 0.6 million pairs and 12 million triples for d = 10.
//
// Relaxation. A node t that is not the last member of its district counts share(t | P_t), any
// number, and waits; the last member c counts
//
//     closing(c, P_c, others) = max over chains of value(chain) - sum_t share(t | P_t)
//
// with the best prefixes of the others, whichever they had: this is all that the relaxation forgets.
// Dynamic programming over the 3^d states (nodes placed, nodes waiting) finds the best order, an
// upper bound of all scores, whatever the shares are.
//
// Shares. They are the multipliers of a Lagrangian relaxation, and the best ones make orders in which
// t waits after P, and closings that use t after P, equally good. Forward and backward passes give
// the best order through every step of the dynamic program, so this can be done for all P at a time.
// It never raises the bound (block coordinate descent): orders through (t waits after P) and (t is
// used after P') are bounded by both, and the changes add half of the differences.
//
// Cells. Calling the nodes of P_i that are neither in P_{i-1} nor members *fresh*, the *cell* of a
// chain contains the districts in which each fresh node of t_i is a parent of t_i and the parents of
// t_1 are all of P_1. Every district is in a cell, and value(chain) is the largest value in the cells
// with smaller prefixes. Cells are bounded first. By the chain rule,
//
//     loglik(C) <= sum_i loglik(t_i | P_i)
//
// in the cell of a chain; pairs are also bounded in the other order, and triples by a fit of two
// members: removing a member c without children in the district,
//
//     loglik(C) <= loglik(C - c) + loglik(c | the rest of C and the parents of C),
//
// because the right-hand side is the likelihood of a larger model. Districts that are no better than
// their members as single nodes with the same prefixes are left out.
//
// The best order through a chain bounds all graphs with a district in its cell. Cells whose bound is
// at most the score of a known graph are removed. Of the others those with the largest bounds are
// opened: their best district is found, by fits in the order of the bounds. Then shares are improved
// again, until all remaining cells are open.
//
// Few remain. A* search over states (nodes placed, and the prefix of each waiting node) with the
// relaxation as heuristic finds the best graph.
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
/// The largest number of cells, with four bytes each.
inline constexpr double exact_cell_limit = 4e8;

/// The number of cells of a search.
double count_cells(int d, int max_district);

/// Searches the graphs that satisfy the rules about pairs and nodes (knowledge, DAGs, bidirected
/// graphs, in-degree) and the options; rules about the whole graph are ignored. `score` is that of a
/// known graph, or -infinity. Data with interventions require districts of one node. When `stop` is
/// raised or the work limit is reached, the best graph so far and a bound are returned.
ExactResult exact_search(Scorer& scorer, const Rules& rules, const ExactOptions& options,
                         double score, const Stop& stop);

}  // namespace bowfree
