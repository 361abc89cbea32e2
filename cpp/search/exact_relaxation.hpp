// The relaxation of an exact search (exact.hpp): bounds of cells, and the districts that may be part
// of a better graph.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "search/exact_space.hpp"

namespace bowfree::exact {

/// The best district of a cell.
struct Kept {
    Chain chain;
    Candidate best;
};

class Relaxation {
  public:
    explicit Relaxation(Space& space);

    /// Opens cells until none is left that may contain a district of a better graph, and lowers the
    /// bound of the search meanwhile.
    void run();

    /// The best districts of the cells that remain.
    std::vector<Kept> districts();
    /// What t counts when it is placed after a prefix and waits for its district.
    double share(int t, Set prefix) const { return share_.at(t, prefix); }
    /// An upper bound of what the nodes after a prefix count, if those of `waiting` wait.
    double rest(Set placed, Set waiting) const { return rest_[state(placed, waiting)]; }

  private:
    /// The cells of one order of the members of a district. A cell has a code: digit j in base
    /// k + 1 is 0 if node j of the others is no parent, and k - i if it is fresh for members[i].
    struct Block {
        int size = 0;
        std::array<int, exact_district_limit> members{};
        std::size_t waiting = 0;    // the number of the set of the members but the last
        std::vector<float> bounds;  // of closed cells, and -infinity
        std::vector<std::pair<std::uint32_t, Candidate>> opened;
        // The chains that may be part of a better graph, with their values, if they are few.
        bool listed = false;
        std::vector<std::pair<std::uint32_t, double>> chains;
    };
    /// By the number of members: the fresh nodes of each code, by position among the others.
    struct Codes {
        std::size_t n_codes = 0;
        std::vector<std::array<std::uint16_t, exact_district_limit>> fresh;
    };
    /// A step from a state: the nodes that no longer wait, what the step counts, the distance to the
    /// next state, and the entry of the closing, if it is one.
    struct Step {
        Set others;
        double value;
        std::ptrdiff_t next;
        std::size_t entry;
    };
    using Prefixes = std::array<Set, exact_district_limit>;

    void add_blocks(Block& block, int size);
    Chain chain_of(const Block& block, std::size_t code) const;
    void number_nodes(const Block& block);
    Prefixes prefixes_of(const Block& block, std::size_t code) const;
    template <class Visit>
    void each_chain(const Block& block, Visit&& visit);
    void fill_values(const Block& block);
    static void spread(int size, std::vector<double>& values, bool up);
    double value_of_waiting(const Block& block, const Prefixes& prefixes) const;

    void bound_cells();
    void update_closings(Set changed);
    void fill_steps(Set placed);
    double fill_rest();
    void fill_before();
    void sweep();
    void raise_shares(int t);
    void fill_slacks(const Block& block);
    void list_chains(Block& block) const;
    bool remove_cells();
    void open_cells();

    std::size_t state(Set placed, Set waiting) const {
        return ternary_[placed] + ternary_[waiting];
    }
    std::size_t entry(int v, Set prefix, std::size_t waiting) const {
        return ((static_cast<std::size_t>(v) << d_) | prefix) * waiting_sets_.size() + waiting;
    }
    Space& space_;
    int d_;
    Set all_;
    std::vector<Codes> codes_;
    std::vector<Block> blocks_;
    std::vector<Set> waiting_sets_;        // of at most largest - 1 nodes
    std::vector<std::size_t> waiting_of_;  // their numbers
    std::vector<std::size_t> ternary_;     // the digits of a set in base 3
    std::vector<std::vector<Set>> live_;   // by prefix: the sets waiting in a better graph
    Table alone_, share_;
    std::vector<double> closing_, passing_;  // by `entry`
    std::vector<double> rest_, before_;      // by `state`
    double bound_ = infinity;                // of the values of all graphs
    double least_excess_ = 0.0;              // of the cells to open next
    std::vector<Step> steps_;                // scratch: from the current prefix
    std::vector<Set> nodes_;                 // scratch: the sets of the others of a block
    std::vector<double> values_, slacks_;    // scratch: by code
};

}  // namespace bowfree::exact
