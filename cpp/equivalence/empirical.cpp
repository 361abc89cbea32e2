#include "equivalence/empirical.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <unordered_set>

#include "equivalence/colliders.hpp"
#include "model/scorer.hpp"

namespace bowfree {

namespace {

/// The sum of F over the districts of a graph; a district met in another graph with the same
/// incoming edges is not fitted again.
class Objectives {
  public:
    Objectives(const double* S, int d, int sweeps)
        : scorer_({S, S + static_cast<std::ptrdiff_t>(d) * d}, d, 1.0, 0.0, cache_bytes, sweeps),
          workspace_(scorer_) {}

    double operator()(const Graph& graph) {
        double total = 0.0;
        for (const auto& members : districts(graph)) {
            Key key;
            for (int v : members) key ^= scorer_.node_key(graph, v);
            total += scorer_.objective(graph, members.front(), key, workspace_);
        }
        return total;
    }

  private:
    static constexpr std::size_t cache_bytes = std::size_t{64} << 20;
    Scorer scorer_;  // without a penalty: all graphs of a skeleton pay the same
    Workspace workspace_;
};

}  // namespace

EmpiricalMembers empirical_class(const Graph& graph, const double* S,
                                 const EmpiricalOptions& options) {
    const auto edges = skeleton_edges(graph);
    Objectives objective(S, graph.d(), options.sweeps);
    EmpiricalMembers found;
    ClassMembers& members = found.members;
    members.complete = true;
    found.own = objective(graph);
    std::vector<std::string> graphs;
    std::vector<int> depth;
    std::unordered_set<std::string> seen;
    const auto bytes = [](const std::string& marks) {
        return reinterpret_cast<const std::uint8_t*>(marks.data());
    };
    const auto late = [&] {
        return options.search.deadline &&
               std::chrono::steady_clock::now() > *options.search.deadline;
    };
    const auto list = [&](const std::string& marks, int steps, double value) {
        if (graphs.size() >= options.search.limit) {
            members.complete = false;
            return;
        }
        graphs.push_back(marks);
        depth.push_back(steps);
        found.objective.push_back(value);
    };

    // The collider-invariant graphs: all combinations of the independent choices.
    const std::vector<std::uint8_t> own = marks_of(graph, edges);
    const auto factors = collider_factors(graph);
    std::vector<std::uint64_t> digit(factors.size());
    seen.emplace(own.begin(), own.end());
    list(std::string(own.begin(), own.end()), 0, found.own);
    for (bool more = true; more && members.complete;) {
        std::string marks(own.begin(), own.end());
        for (std::size_t f = 0; f < factors.size(); ++f)
            for (std::size_t c = 0; c < factors[f].edges.size(); ++c)
                marks[factors[f].edges[c]] =
                    factors[f].members.marks[digit[f] * factors[f].edges.size() + c];
        if (seen.insert(marks).second)
            list(marks, 0, objective(marked_graph(graph.d(), edges, bytes(marks))));
        if (late()) members.complete = false;
        more = false;
        for (std::size_t f = 0; f < factors.size() && !more; ++f) {
            more = ++digit[f] < factors[f].members.n_members;
            if (!more) digit[f] = 0;
        }
    }

    for (std::size_t next = 0; next < graphs.size() && members.complete; ++next) {
        if (depth[next] == options.max_depth) continue;
        std::string candidate = graphs[next];
        for (std::size_t e = 0; e < edges.size() && members.complete; ++e) {
            const char before = candidate[e];
            for (char mark = 0; mark < 3 && members.complete; ++mark) {
                candidate[e] = mark;
                if (!seen.insert(candidate).second) continue;
                if (late()) members.complete = false;
                ++members.n_visited;
                const Graph H = marked_graph(graph.d(), edges, bytes(candidate));
                if (topological_order(H).empty()) continue;
                const double value = objective(H);
                if (std::abs(value - found.own) <= 2 * options.epsilon)
                    list(candidate, depth[next] + 1, value);
            }
            candidate[e] = before;
        }
    }
    members.n_members = graphs.size();
    for (const auto& marks : graphs)
        members.marks.insert(members.marks.end(), bytes(marks), bytes(marks) + marks.size());
    return found;
}

}  // namespace bowfree
