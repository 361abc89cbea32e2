#include "search/enumeration.hpp"

#include <array>
#include <bit>
#include <cassert>
#include <cmath>

namespace bowfree {

namespace {

/// The largest number of edges of a graph with a score of at least `least`, whose log-likelihood is
/// at most that of the unrestricted model.
double most_edges(const Scorer& scorer, double least) {
    const double none_omitted = infinity;
    if (!scorer.is_plain() || scorer.data().rows) return none_omitted;
    std::vector<double> L = scorer.data().conditions.front().S;
    if (cholesky(L.data(), scorer.d()) < scorer.d()) return none_omitted;
    double F = scorer.d();
    for (int v = 0; v < scorer.d(); ++v) F += 2.0 * std::log(L[v * scorer.d() + v]);
    return (scorer.constant() - 0.5 * F - least) / scorer.edge_cost();
}

constexpr int most_nodes = 5, half_pairs = 5;

/// The sets of parents or spouses of all nodes, five bits each.
struct Rows {
    std::uint32_t bits = 0;

    std::uint32_t row(int v) const { return bits >> most_nodes * v & 31U; }
    void insert(int v, int u) { bits |= 1U << (most_nodes * v + u); }
};

/// Graphs from their codes, half of the pairs at a time.
class Decoder {
  public:
    explicit Decoder(int d) {
        for (int j = 1; j < d; ++j)
            for (int i = 0; i < j; ++i) {
                const auto pair = static_cast<int>(pair_index(i, j));
                heads_[j] |= 1U << 2 * pair;
                heads_[i] |= 2U << 2 * pair;
                auto& half = halves_[pair / half_pairs];
                for (std::uint32_t part = 0; part < half.size(); ++part) {
                    auto& [parents, spouses] = half[part];
                    switch (static_cast<Edge>(part >> 2 * (pair % half_pairs) & 3)) {
                        case Edge::none: break;
                        case Edge::forward: parents.insert(j, i); break;
                        case Edge::backward: parents.insert(i, j); break;
                        case Edge::bidirected: spouses.insert(i, j), spouses.insert(j, i); break;
                    }
                }
            }
    }

    Rows parents(std::uint32_t code) const {
        return {low(code).parents.bits | high(code).parents.bits};
    }
    Rows spouses(std::uint32_t code) const {
        return {low(code).spouses.bits | high(code).spouses.bits};
    }

    /// The arrowheads at the members of a set: the bits of a code that their districts depend on.
    std::uint32_t heads(std::uint32_t members) const {
        std::uint32_t found = 0;
        for (; members != 0; members &= members - 1) found |= heads_[std::countr_zero(members)];
        return found;
    }

  private:
    struct Half {
        Rows parents, spouses;
    };
    const Half& low(std::uint32_t code) const { return halves_[0][code & 1023U]; }
    const Half& high(std::uint32_t code) const { return halves_[1][code >> 10]; }

    std::array<std::uint32_t, most_nodes> heads_{};
    std::array<std::array<Half, 1 << 2 * half_pairs>, 2> halves_{};
};

bool is_acyclic(const Rows& parents, std::uint32_t nodes) {
    for (std::uint32_t left = nodes; left != 0;) {
        std::uint32_t next = 0;
        for (std::uint32_t rest = left; rest != 0; rest &= rest - 1) {
            const int v = std::countr_zero(rest);
            if (parents.row(v) & left) next |= 1U << v;
        }
        if (next == left) return false;
        left = next;
    }
    return true;
}

std::uint32_t district_of(const Rows& spouses, int v) {
    std::uint32_t found = 1U << v;
    for (std::uint32_t fresh = found; fresh != 0;) {
        std::uint32_t next = 0;
        for (; fresh != 0; fresh &= fresh - 1) next |= spouses.row(std::countr_zero(fresh));
        fresh = next & ~found;
        found |= fresh;
    }
    return found;
}

}  // namespace

Graph graph_of_code(int d, std::uint32_t code) {
    Graph graph(d);
    for (int j = 1; j < d; ++j)
        for (int i = 0; i < j; ++i, code >>= 2) add_edge(graph, i, j, static_cast<Edge>(code & 3));
    return graph;
}

AllScores score_all(Scorer& scorer, const Rules& rules, const Stop& stop, double least) {
    const int d = scorer.d();
    assert(d <= most_nodes);
    const double most = most_edges(scorer, least);
    const std::uint32_t n_codes = std::uint32_t{1} << 2 * n_pairs(d), nodes = (1U << d) - 1;
    const bool all_baps = rules.graph_class == GraphClass::bap && !rules.has_global_rules() &&
                          rules.max_in_degree < 0 && rules.max_edges < 0 && rules.knowledge.empty();
    const Decoder decoder(d);
    Workspace workspace(scorer, stop);
    AllScores all;
    // F of a district by the arrowheads at its members, as bits of a code, without a hash; the last
    // ones are those of the nodes without an arrowhead.
    std::vector<double> F(n_codes + d, std::numeric_limits<double>::quiet_NaN());
    for (std::uint32_t code = 0; code < n_codes; ++code) {
        const int n_edges = std::popcount((code | code >> 1) & 0x55555555U);
        if (n_edges > most || !is_acyclic(decoder.parents(code), nodes)) continue;
        stop.check();
        if (!all_baps && !rules.permits(graph_of_code(d, code))) continue;
        const Rows spouses = decoder.spouses(code);
        double total = 0.0;
        for (std::uint32_t left = nodes; left != 0;) {
            const int v = std::countr_zero(left);
            const std::uint32_t members = district_of(spouses, v);
            left &= ~members;
            const std::uint32_t heads = code & decoder.heads(members);
            double& own = F[heads != 0 ? heads : n_codes + v];
            if (std::isnan(own)) {
                const Graph graph = graph_of_code(d, code);
                const Key key = rows_key(graph, bowfree::district_of(graph, v));
                own = scorer.objective(graph, v, key, workspace);
            }
            total += own;
        }
        stop.count_result();
        all.codes.push_back(code);
        all.scores.push_back(scorer.constant() - 0.5 * total - scorer.edge_cost() * n_edges);
    }
    return all;
}

std::vector<EdgeChange> edge_changes(Scorer& scorer, const Graph& graph, const Rules& rules,
                                     const Stop& stop) {
    Workspace workspace(scorer, stop);
    MoveTable table(scorer, graph, workspace);
    std::vector<EdgeChange> changes;
    table.for_each_move(
        rules, [&](const Move& move) { changes.push_back({move, table.gain(move, 0.0)}); });
    return changes;
}

}  // namespace bowfree
