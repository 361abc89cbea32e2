// The best DAG over orders of the nodes: the first stage of a dag_first run.
//
// An order and, for every node, the best parents among the nodes before it determine a DAG. A search
// over orders, in which a step moves one node to its best position, changes many edges at once and
// never has to check for cycles. This is BOSS (Andrews, Ramsey, Sanchez-Romero, Camchong and
// Kummerfeld 2023), with its trees that cache the best parents by the set of preceding nodes.
//
//   ParentTree     The parents of a node v are found by growing (add the candidate with the largest
//                  gain while there is one) and shrinking (remove parents that no longer gain).
//                  Growing descends in a tree: each tree node is a set of parents, its branches are
//                  the candidates with a gain, best first, and the first branch that precedes v is
//                  taken. The tree is only a cache.
//   Descent        The end of such a descent: its score, the candidates taken, and those passed over
//                  because they do not precede v.
//   OrderSearch    The order, and the descent of every node. When v is moved before u, the descent
//                  of u changes only if it passed over v; when v is moved behind u, only if it took
//                  v. So most of a step consists of looking up two bits per node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/scorer.hpp"
#include "rng.hpp"
#include "space/rules.hpp"

namespace bowfree {

/// The end of a descent in a tree, with the candidates that precede the node and do not.
struct Descent {
    double score = 0.0;  ///< of the node with the parents found
    std::vector<Word> taken, passed;
};

/// The parents of one node, by the set of nodes before it.
class ParentTree {
  public:
    /// Buffers shared by the trees of all nodes, which are used one at a time.
    struct Scratch {
        std::vector<int> parents, fewer, kept;
        std::vector<double> factor, with_node;  // of a regression on the parents
        std::vector<double> rows, left;         // of all candidates
        std::vector<std::pair<double, int>> gaining;
    };

    /// `candidates` may be parents, `fixed` nodes are; at most `limit` in all (-1: any number).
    ParentTree(const Scorer& scorer, Scratch& scratch, int node, std::vector<int> candidates,
               std::vector<int> fixed, int limit);

    /// Finds the parents among the nodes `before` this one by growing and shrinking.
    void find(const Word* before, const Stop& stop, Descent& descent);

    /// The parents found last.
    std::vector<int> found() const;

    std::size_t bytes() const;  ///< allocated
    void clear();

  private:
    /// A set of parents: the set above it in the tree, and one more.
    struct Set {
        std::int32_t above = -1, last = -1;   // `last` is the parent that was added
        std::int32_t first = 0, end = 0;      // its branches, in `branches_`, once it is grown
        std::int32_t kept = 0, kept_end = 0;  // after shrinking, in `kept_`, once it is shrunk
        double score = 0.0, kept_score = 0.0;
        bool grown = false, shrunk = false;
    };
    void list_parents(int set);
    int below(int set, int branch);
    void grow(int set);
    void shrink(int set);
    double score_of(const std::vector<int>& parents);

    const Scorer& scorer_;
    Scratch& scratch_;
    int node_, limit_, leaf_ = 0;
    std::vector<int> candidates_, fixed_;
    std::vector<Set> sets_;
    std::vector<std::int32_t> branches_, kept_;
    std::vector<std::int32_t> below_;  // the set at the end of each branch, once it is taken
    std::vector<double> scores_;       // that each of the branches leads to
};

/// The trees of all nodes, for searches with the same data and rules, one at a time.
struct ParentTrees {
    ParentTree::Scratch scratch;
    std::vector<ParentTree> trees;
};

class OrderSearch {
  public:
    /// Whether the rules limit only the number of arrowheads at a node, and every pair either may
    /// be without an edge or must be one given directed edge.
    static bool supports(const Rules& rules, int d);

    /// Larger trees are cleared; with 1000 variables they take 100 to 200 megabytes.
    static constexpr std::size_t default_bytes = std::size_t{256} << 20;

    /// Starts with a random order. The rules must be supported, the data observational.
    OrderSearch(const Scorer& scorer, const Rules& rules, ParentTrees& memory, Rng& rng,
                const Stop& stop, std::size_t max_bytes = default_bytes);

    /// Moves nodes to their best positions until no move gains more than `tolerance`.
    void improve(double tolerance);
    /// `n` times: moves a few random nodes to random positions and improves; restores the order if
    /// its score was higher.
    void kick(int n, double tolerance);

    /// The score of the graph up to a constant: a sum over the nodes.
    double score() const;
    const std::vector<int>& order() const { return order_; }
    Graph graph();

  private:
    struct Span {
        int first, last;  // positions that are possible for a node
    };
    Span possible_positions(int node) const;
    bool move_to_best(int node, double tolerance);
    void free_memory_if_needed();
    void move(int node, int to);

    int d_, words_;
    std::size_t max_bytes_;
    Rng& rng_;
    const Stop& stop_;
    std::vector<std::vector<int>> fixed_parents_, fixed_children_;
    std::vector<ParentTree>& trees_;
    std::vector<int> order_, position_;
    std::vector<Descent> descents_;
    Descent trial_, own_;         // scratch
    std::vector<Word> before_;    // scratch
    std::vector<double> totals_;  // scratch
};

}  // namespace bowfree
