#include "equivalence/classes.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <string_view>
#include <unordered_set>

namespace bowfree {

std::vector<std::pair<int, int>> skeleton_edges(const Graph& graph) {
    std::vector<std::pair<int, int>> edges;
    for (int i = 0; i < graph.d(); ++i)
        for (int j = i + 1; j < graph.d(); ++j)
            if (graph.adjacent(i, j)) edges.emplace_back(i, j);
    return edges;
}

EdgeKinds kinds_of(const Graph& graph, const std::vector<std::pair<int, int>>& edges) {
    EdgeKinds kinds;
    for (const auto& [i, j] : edges) kinds.push_back(get_edge(graph, i, j));
    return kinds;
}

Graph graph_of_kinds(int d, const std::vector<std::pair<int, int>>& edges, const Edge* kinds) {
    Graph graph(d);
    for (std::size_t e = 0; e < edges.size(); ++e)
        add_edge(graph, edges[e].first, edges[e].second, kinds[e]);
    return graph;
}

std::size_t EdgeKindsHash::operator()(const EdgeKinds& kinds) const {
    static_assert(sizeof(Edge) == 1);
    const auto* bytes = reinterpret_cast<const char*>(kinds.data());
    return std::hash<std::string_view>{}(std::string_view(bytes, kinds.size()));
}

namespace {

/// Makes sure that the given graph is among the members.
void include(const EdgeKinds& own, ClassMembers& members) {
    const std::size_t m = own.size();
    for (std::uint64_t i = 0; i < members.n_members; ++i)
        if (std::equal(own.begin(), own.end(), members.kinds.begin() + i * m)) return;
    if (members.n_members == 0) {
        members.kinds = own;
        members.n_members = 1;
    } else {
        std::ranges::copy(own, members.kinds.end() - m);
    }
}

/// The end of an edge at a node; `open` if undecided.
enum End : std::uint8_t { open, tail, head };
enum class State : std::uint8_t { unopened, waiting, placed };

/// A decision of the search.
enum class Step : std::uint8_t {
    parent,         ///< a neighbor that is placed is a parent
    opened_parent,  ///< a neighbor that was not opened before is a parent
    head,           ///< a neighbor is not a parent
    placed,         ///< a node is placed, and the search returns to the child that waits for it
    placed_opened,  ///< a node is placed, no child waits, and a new node is opened
};

/// The search over canonical topological orders described in the header.
class ClassSearch {
  public:
    ClassSearch(const Graph& graph, std::uint64_t seed, const ClassOptions& options,
                const Stop& stop)
        : n_(graph.d()),
          edges_(skeleton_edges(graph)),
          targets_(topological_order(graph)),
          limit_(options.limit),
          conditions_(one_or_more(options.conditions, n_)),
          stop_(stop),
          Sigma_(random_covariances(graph, targets_, conditions_, draw_seed(seed, 0), stop)),
          check_(random_covariances(graph, targets_, conditions_, draw_seed(seed, 1), stop)),
          rows_(n_, conditions_, Sigma_),
          check_rows_(n_, conditions_, check_),
          n_parameters_(count_parameters(graph, conditions_)),
          // A condition that removes no edge determines the v-structures of the whole graph.
          markov_(std::ranges::any_of(conditions_,
                                      [this](const Condition& c) {
                                          return std::ranges::none_of(
                                              targets_, [&](int v) { return c.cuts(v); });
                                      })),
          skeleton_(skeleton_of(graph)),
          collider_end_(square()),
          forced_(square(), open),
          end_(square(), open),
          state_(n_, State::unopened),
          neighbors_(n_),
          kinds_(edges_.size()) {
        for (const auto& [i, j] : edges_) {
            collider_end_[at(i, j)] = !graph.directed(i, j);
            collider_end_[at(j, i)] = !graph.directed(j, i);
        }
        // In a topological order of the given graph, so that few nodes wait at the same time.
        for (int t : targets_)
            for (int u : targets_)
                if (skeleton_.bidirected(t, u)) neighbors_[t].push_back(u);
        if (markov_) force_ends();
    }

    ClassMembers run() {
        try {
            search();
            found_.complete = true;
        } catch (const Stopped&) {
        }
        return std::move(found_);
    }

  private:
    std::size_t square() const { return static_cast<std::size_t>(n_) * n_; }
    std::size_t at(int i, int j) const { return static_cast<std::size_t>(i) * n_ + j; }
    bool unshielded(int a, int b) const { return a != b && !skeleton_.bidirected(a, b); }
    /// Is a *-> w <-* b in the given graph?
    bool collider(int a, int w, int b) const {
        return collider_end_[at(w, a)] && collider_end_[at(w, b)];
    }

    /// Finds the ends that are the same in all graphs with these v-structures. Sets
    /// `forced_[at(w, a)]`, the end at w of the edge between w and a, and propagates: a head in an
    /// unshielded non-collider implies a tail at the other edge, and the other end of a tail is a
    /// head.
    void force_ends() {
        std::deque<std::pair<int, int>> news;
        const auto force = [&](int w, int a, End end) {
            // The given graph satisfies every implication, so there are no conflicts.
            if (forced_[at(w, a)] != open) return;
            forced_[at(w, a)] = end;
            news.emplace_back(w, a);
        };
        for (int w = 0; w < n_; ++w) {
            stop_.check();
            for (int a : neighbors_[w])
                for (int b : neighbors_[w])
                    if (unshielded(a, b) && collider(a, w, b)) force(w, a, head);
        }
        while (!news.empty()) {
            stop_.check();
            const auto [w, a] = news.front();
            news.pop_front();
            if (forced_[at(w, a)] == tail) {
                force(a, w, head);
                continue;
            }
            for (int b : neighbors_[w])
                if (unshielded(a, b) && !collider(a, w, b)) force(w, b, tail);
        }
    }

    /// Depth-first search over all decisions, without recursion, because a path has a decision for
    /// each edge and node.
    void search() {
        open_next();
        do {
            while (advance()) {
            }
        } while (retreat());
    }

    void open_node(int t) {
        state_[t] = State::waiting;
        waiting_.emplace_back(t, 0);
    }

    void close_node() {
        state_[waiting_.back().first] = State::unopened;
        waiting_.pop_back();
    }

    /// Opens the first unopened node, if there is one.
    bool open_next() {
        const auto next =
            std::ranges::find_if(targets_, [this](int t) { return state_[t] == State::unopened; });
        if (next == targets_.end()) return false;
        open_node(*next);
        return true;
    }

    /// Makes the next decision about the node opened last; returns false at a dead end or a complete
    /// graph. An unopened parent is opened and placed before the next neighbor is considered, so
    /// that its constraints are checked first.
    bool advance() {
        stop_.check();
        if (waiting_.empty()) {
            record();
            return false;
        }
        const auto [t, i] = waiting_.back();
        if (i == neighbors_[t].size()) {
            ++found_.n_visited;
            return place(t);
        }
        const int u = neighbors_[t][i];
        // A waiting node is a descendant of t, so it cannot be a parent.
        if (forced_[at(u, t)] == head || state_[u] == State::waiting) return decide_head(u, t);
        end_[at(u, t)] = tail;
        ++waiting_.back().second;
        if (state_[u] == State::placed) {
            path_.push_back(Step::parent);
        } else {
            path_.push_back(Step::opened_parent);
            open_node(u);
        }
        return true;
    }

    /// Backtracks to the last decision that has an alternative and takes that; returns false when
    /// there is none.
    bool retreat() {
        while (!path_.empty()) {
            const Step step = path_.back();
            path_.pop_back();
            if (step == Step::opened_parent || step == Step::placed_opened) close_node();
            if (step == Step::placed || step == Step::placed_opened) {
                const int t = order_.back();
                order_.pop_back();
                state_[t] = State::waiting;
                waiting_.emplace_back(t, neighbors_[t].size());
                continue;
            }
            auto& [t, i] = waiting_.back();
            const int u = neighbors_[t][--i];
            if (step != Step::head && decide_head(u, t)) return true;
            end_[at(u, t)] = open;
        }
        return false;
    }

    /// Decides for a head at u, the next neighbor of t, if it is possible.
    bool decide_head(int u, int t) {
        if (!may_be_head(u, t)) return false;
        end_[at(u, t)] = head;
        ++waiting_.back().second;
        path_.push_back(Step::head);
        return true;
    }

    /// Whether the edge between u and t may have a head at u.
    bool may_be_head(int u, int t) const {
        if (!markov_) return true;
        if (forced_[at(u, t)] == tail) return false;
        return std::ranges::none_of(neighbors_[u], [&](int x) {
            return end_[at(u, x)] == head && unshielded(x, t) && !collider(x, u, t);
        });
    }

    /// Solves for row t, the node opened last, and places it if its constraints with the placed
    /// nodes hold. The search continues with the child that waits for it, or with a new node.
    bool place(int t) {
        parents_.clear();
        for (int u : neighbors_[t])
            if (end_[at(u, t)] == tail) parents_.push_back(u);
        const InclusionTest test = rows_.add_node(t, parents_, order_, skeleton_.spouses(t), stop_);
        if (test.answer == Inclusion::singular) throw SingularDraw{};
        if (test.answer == Inclusion::no) return false;
        state_[t] = State::placed;
        order_.push_back(t);
        waiting_.pop_back();
        path_.push_back(waiting_.empty() && open_next() ? Step::placed_opened : Step::placed);
        return true;
    }

    /// Adds a complete graph to the members if the second draw confirms it.
    void record() {
        for (std::size_t e = 0; e < edges_.size(); ++e) {
            const auto [i, j] = edges_[e];
            kinds_[e] = end_[at(i, j)] == tail   ? Edge::forward
                        : end_[at(j, i)] == tail ? Edge::backward
                                                 : Edge::bidirected;
        }
        const Graph H = graph_of_kinds(n_, edges_, kinds_.data());
        const Inclusion answer = produces(H, order_, check_rows_, stop_).answer;
        if (answer == Inclusion::singular) throw SingularDraw{};
        if (answer == Inclusion::no) return;
        // With interventions graphs of one skeleton may differ in dimension.
        if (conditions_.size() > 1 && count_parameters(H, conditions_) != n_parameters_) return;
        if (found_.n_members == limit_) throw Stopped{};  // there are more
        found_.kinds.insert(found_.kinds.end(), kinds_.begin(), kinds_.end());
        ++found_.n_members;
        stop_.count_result();
    }

    int n_;
    std::vector<std::pair<int, int>> edges_;
    std::vector<int> targets_;
    std::uint64_t limit_;
    Conditions conditions_;
    const Stop& stop_;
    Covariances Sigma_, check_;
    ConditionRows rows_, check_rows_;
    std::uint64_t n_parameters_;
    bool markov_;  // members have the v-structures of the given graph
    Graph skeleton_;
    // At (w, a): whether the edge between w and a has a head at w in the given graph; the end at w.
    std::vector<std::uint8_t> collider_end_;
    std::vector<End> forced_, end_;
    std::vector<State> state_;
    std::vector<int> order_, parents_;
    // Nodes opened and not placed, each the child of the next, with the first undecided neighbor.
    std::vector<std::pair<int, std::size_t>> waiting_;
    std::vector<Step> path_;
    std::vector<std::vector<int>> neighbors_;
    EdgeKinds kinds_;
    ClassMembers found_;
};

}  // namespace

ClassMembers exact_class(const Graph& graph, const ClassOptions& options, const Stop& stop) {
    for (int draw = 0; draw < max_draws; ++draw) {
        try {
            return ClassSearch(graph, draw_seed(options.seed, 2 * draw), options, stop).run();
        } catch (const SingularDraw&) {
        } catch (const Stopped&) {  // before the search began
            return {};
        }
    }
    throw NoRegularDraw();
}

ClassMembers edge_change_class(const Graph& graph, const ClassOptions& options, const Stop& stop) {
    const auto edges = skeleton_edges(graph);
    const EdgeKinds own = kinds_of(graph, edges);
    // Members in the order found; `seen` also contains rejected candidates.
    std::vector<EdgeKinds> members{own};
    std::unordered_set<EdgeKinds, EdgeKindsHash> seen{own};
    ClassMembers found;
    InclusionOracle oracle(graph, {}, options.seed);
    const auto try_candidate = [&](const EdgeKinds& candidate) {
        stop.check();
        if (!seen.insert(candidate).second) return;
        ++found.n_visited;
        const Graph H = graph_of_kinds(graph.d(), edges, candidate.data());
        const std::vector<int> order = topological_order(H);
        if (order.empty() || oracle.inside(H, order, stop).answer != Inclusion::yes) return;
        if (members.size() >= options.limit) throw Stopped{};  // there are more
        members.push_back(candidate);
        stop.count_result();
    };
    try {
        for (std::size_t next = 0; next < members.size(); ++next)
            for_each_edge_change(members[next], try_candidate);
        found.complete = true;
    } catch (const Stopped&) {
    }
    found.n_members = members.size();
    for (const EdgeKinds& member : members)
        found.kinds.insert(found.kinds.end(), member.begin(), member.end());
    return found;
}

namespace {

/// The conditions restricted to a component; none if it contains no target. Of several conditions
/// without targets one is enough.
Conditions restricted(const Conditions& conditions, const std::vector<int>& nodes) {
    Conditions found;
    bool any = false, untargeted = false;
    for (const Condition& condition : conditions) {
        Condition here{condition.kind,
                       std::vector<Word>(words_for(static_cast<int>(nodes.size())))};
        bool touched = false;
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (condition.is_target(nodes[i])) {
                insert(here.targets.data(), static_cast<int>(i));
                touched = true;
            }
        if (touched || !untargeted) found.push_back(std::move(here));
        any = any || touched;
        untargeted = untargeted || !touched;
    }
    return any ? found : Conditions{};
}

}  // namespace

std::vector<ClassFactor> class_factors(const Graph& graph, ClassMethod method,
                                       const ClassOptions& options, const Stop& stop) {
    const auto edges = skeleton_edges(graph);
    // A component is a district of the graph whose skeleton is made bidirected.
    std::vector<ClassFactor> factors;
    for (const std::vector<int>& nodes : districts(skeleton_of(graph))) {
        if (nodes.size() == 1) continue;
        std::vector<int> local(graph.d(), -1);
        for (std::size_t i = 0; i < nodes.size(); ++i) local[nodes[i]] = static_cast<int>(i);
        Graph component(static_cast<int>(nodes.size()));
        ClassFactor factor;
        for (std::size_t e = 0; e < edges.size(); ++e) {
            const auto [i, j] = edges[e];
            if (local[i] < 0) continue;
            factor.edges.push_back(static_cast<int>(e));
            add_edge(component, local[i], local[j], get_edge(graph, i, j));
        }
        ClassOptions its_options = options;
        its_options.conditions = restricted(options.conditions, nodes);
        factor.members = method == ClassMethod::exact
                             ? exact_class(component, its_options, stop)
                             : edge_change_class(component, its_options, stop);
        if (!factor.members.complete)
            include(kinds_of(component, skeleton_edges(component)), factor.members);
        factors.push_back(std::move(factor));
    }
    return factors;
}

}  // namespace bowfree
