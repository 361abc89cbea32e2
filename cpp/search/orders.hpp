// The best DAG over orders of the nodes: the first stage of a dag_first run.
//
// An order and, for every node, the best parents among the nodes before it make a DAG. So a search
// for a DAG can go over orders, where one step (a node moves to its best place) changes many edges
// at once and acyclicity is never a question. This is BOSS (Andrews, Ramsey, Sanchez-Romero,
// Camchong, Kummerfeld, 2023), with its trees that remember parents by what is before a node.
//
//   ParentTree     of one node v. Parents are found by growing (add the candidate that gains most,
//                  while one gains) and shrinking (take away what no longer pays). Growing walks
//                  down the tree: a tree node is a set of parents, its branches are the candidates
//                  that would gain, best first, and the first branch that is before v is taken.
//                  A tree is memory and nothing else: what it forgets is worked out again.
//   Descent          where a walk down the tree ended: the score there, the candidates that it took,
//                  and those that it passed by because they are not before v.
//   OrderSearch    the order, and the place of every node. When v is put before u, the walk of u is
//                  another one only if it passed by v; when v is taken away, only if it took v. So
//                  most of what a step has to look at is two bits per node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/scorer.hpp"
#include "rng.hpp"
#include "space/rules.hpp"

namespace bowfree {

/// The end of a descent in a tree.
struct Descent {
    double score = 0.0;               ///< of the node with the parents found there
    std::vector<Word> taken, passed;  ///< candidates on the way: taken, and not there to be taken
};

/// The parents of one node, by the set of nodes before it.
class ParentTree {
  public:
    /// What the trees of all nodes work with, one at a time.
    struct Scratch {
        std::vector<int> parents, fewer, kept;
        std::vector<double> factor, with_node;  // of a regression on the parents
        std::vector<double> rows, left;         // of all candidates
        std::vector<std::pair<double, int>> gaining;
    };

    /// `candidates` may be parents, `fixed` are; at most `limit` in all (-1: any number).
    ParentTree(const Scorer& scorer, Scratch& scratch, int node, std::vector<int> candidates,
               std::vector<int> fixed, int limit);

    /// The best parents among the nodes `before` this one, up to greed.
    void find(const Word* before, const Stop& stop, Descent& place);

    /// The parents that were found last.
    std::vector<int> found() const;

    /// Bytes held now.
    std::size_t bytes() const;
    void clear();

  private:
    /// A set of parents: the set above it in the tree, and one more.
    struct Set {
        std::int32_t above = -1, last = -1;     // `last` is the parent that was added
        std::int32_t child = -1, sibling = -1;  // the sets below it form a list
        std::int32_t first = 0, end = 0;        // its branches, in `branches_`, once it is grown
        std::int32_t kept = 0, kept_end = 0;    // after shrinking, in `kept_`, once it is shrunk
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
    std::vector<double> scores_;  // that each of the branches leads to
};

class OrderSearch {
  public:
    /// True when every DAG of an order is within reach of the rules: they limit no more than the
    /// arrowheads at a node, and every pair may be without an edge or must be one given arrow.
    static bool can_honor(const Rules& rules, int d);

    /// Trees that hold more are emptied; with 1000 variables they take 100 to 200 megabytes.
    static constexpr std::size_t default_bytes = std::size_t{256} << 20;

    /// Begins with a random order. The rules must be ones it can honor, the data plain: one
    /// condition without targets.
    OrderSearch(const Scorer& scorer, const Rules& rules, Rng& rng, const Stop& stop,
                std::size_t max_bytes = default_bytes);

    /// Moves nodes to their best places until none gains more than `tolerance`.
    void improve(double tolerance);
    /// Moves a few random nodes to random places, improves, and goes back if that lost; `n` times.
    void kick(int n, double tolerance);

    /// The sum over the nodes: what the graph's score has beside the constant part.
    double score() const;
    const std::vector<int>& order() const { return order_; }
    Graph graph();

  private:
    struct Span {
        int first, last;  // places that are open to a node
    };
    Span open_places(int node) const;
    bool move_to_best(int node, double tolerance);
    void free_memory_if_needed();
    void move(int node, int to);

    int d_, words_;
    std::size_t max_bytes_;
    Rng& rng_;
    const Stop& stop_;
    std::vector<std::vector<int>> fixed_parents_, fixed_children_;
    ParentTree::Scratch scratch_;
    std::vector<ParentTree> trees_;
    std::vector<int> order_, position_;
    std::vector<Descent> descents_;
    Descent trial_, own_;         // scratch
    std::vector<Word> before_;    // scratch
    std::vector<double> totals_;  // scratch
};

}  // namespace bowfree
