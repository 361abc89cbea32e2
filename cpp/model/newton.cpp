#include "model/newton.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "model/dense.hpp"
#include "model/room.hpp"

namespace bowfree {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// So few parameters take a millisecond or two: too little to ask in between whether to stop.
constexpr int soon_done = 50;

// Levenberg-Marquardt damping, relative to the Hessian's diagonal. The factors are the usual rule
// of thumb: be quick to distrust the model and slower to trust it again.
constexpr double first_damping = 1e-3;    // once a plain step has failed
constexpr double least_damping = 1e-7;    // below it: none
constexpr double most_damping = 1e12;     // beyond it the step is rounding
constexpr double after_failure = 8.0;     // the damping is multiplied by this,
constexpr double after_poor_step = 3.0;   // or this,
constexpr double after_good_step = 0.1;   // or this
constexpr double good = 0.5, poor = 0.1;  // share of the promised fall that a step brings

// An error is near a pole when the others determine 99 % of it: W_vv = 1 / (1 - 0.99).
constexpr double near_pole = 100.0;
constexpr double leaps[] = {1.0, 3.0, 9.0, 27.0, 81.0};  // step lengths that look across it
constexpr double shortened[] = {1.0, 0.3, 0.1};          // step lengths in a curved valley

// Along negative curvature: the largest parameter moves by half a unit at first (they are scaled to
// about one), then by a quarter of that, until it is too little to leave a saddle point.
constexpr double first_excursion = 0.5, next_excursion = 0.25, last_excursion = 1e-4;

}  // namespace

/// The parameters of the term among all of ours.
const double* Newton::Term::own(const std::vector<double>& all) {
    if (index.empty()) return all.data();
    for (std::size_t i = 0; i < index.size(); ++i) theta[i] = all[index[i]];
    for (std::size_t i = 0; i < ratios.size(); ++i)
        for (const int r : ratios[i])
            if (r >= 0) theta[i] *= all[r];
    return theta.data();
}

void Newton::reset(const District& district, const double* S, const double* X, Sweeps& sweeps,
                   const Stop* stop) {
    take_up(district, sweeps, stop);
    Term& only = add_term(1.0);
    only.f.reset(district, S, X, stop_);
    only.index.clear();
    only.ratios.clear();
    only.rows.resize(k_);
    for (int v = 0; v < k_; ++v) only.rows[v] = v;
    resize();
}

void Newton::reset(const District& district, const std::vector<Group>& groups, Sweeps& sweeps,
                   const Stop* stop) {
    take_up(district, sweeps, stop);
    std::vector<int> in_A(k_ * m_, -1), in_R(k_ * k_, -1);  // number of the parameter at each entry
    for (int i = 0; i < n_; ++i)
        (i < n_rows_ ? in_A[entries_[i].row * m_ + entries_[i].column]
                     : in_R[entries_[i].row * k_ + entries_[i].column]) = i;
    for (const Group& group : groups) {
        Term& term = add_term(group.weight);
        const std::vector<int>& nodes = group.district.nodes;
        term.f.reset(group.district, group.S.data(), group.X.data(), stop_);
        term.rows.assign(nodes.begin(), nodes.begin() + group.district.k);
        index_parameters(term, group, in_A, in_R);
        for (auto* vector : {&term.theta, &term.gradient}) vector->resize(term.f.size());
    }
    resize();
}

/// Finds the parameters of a group among ours, and adds those that it has to itself.
void Newton::index_parameters(Term& term, const Group& group, const std::vector<int>& in_A,
                              const std::vector<int>& in_R) {
    const std::vector<int>& nodes = group.district.nodes;
    const Pooled& pooled = *group.pooled;
    const auto add = [&](int like) {
        begins_as_.push_back(like);
        return n_++;
    };
    std::vector<int> ratio(group.district.k, -1);
    const bool noise = pooled.condition >= 0 && pooled.kind == Kind::noise;
    for (int v = 0; noise && v < group.district.k; ++v)
        if (pooled.is_target(nodes[v])) ratio[v] = add(-1);
    const int n = term.f.size();
    term.index.resize(n);
    term.base.resize(n);
    term.ratios.clear();
    for (int i = 0; i < n; ++i) {
        const auto [a, b] = term.f.entries()[i];
        const bool in_row = i < term.f.n_rows();
        const int base = in_row ? in_A[nodes[a] * m_ + nodes[b]] : in_R[nodes[a] * k_ + nodes[b]];
        const Use use = in_row && a != b ? pooled.coefficient(nodes[b], nodes[a])
                                         : pooled.error(nodes[a], nodes[b]);
        const bool own = pooled.condition >= 0 && use == Use::own && !noise;
        term.base[i] = base;
        term.index[i] = own ? add(base) : base;
        if (!own) in_use_[base] = true;
        if (noise) term.ratios.push_back({ratio[a], in_row ? -1 : ratio[b]});
    }
}

void Newton::take_up(const District& district, Sweeps& sweeps, const Stop* stop) {
    sweeps_ = &sweeps;
    k_ = district.k;
    m_ = district.m();
    n_steps_ = 0;
    n_terms_ = 0;

    entries_.clear();
    for (int v = 0; v < k_; ++v) {
        entries_.push_back({v, v});
        for (int p : district.parents[v]) entries_.push_back({v, p});
    }
    n_rows_ = static_cast<int>(entries_.size());
    for (auto [a, b] : district.spouse_pairs) entries_.push_back({a, b});
    n_ = n_shared_ = static_cast<int>(entries_.size());
    in_use_.assign(n_shared_, false);
    begins_as_.clear();
    stop_ = n_ > soon_done ? stop : nullptr;
    A_.resize(k_ * m_);
    Omega_.resize(k_ * k_);
}

void Newton::resize() {
    for (auto* vector : {&theta_, &trial_, &best_, &gradient_, &step_}) vector->resize(n_);
}

/// Begins with the same values in all groups. What no group shares is kept at zero.
void Newton::begin_alike(std::vector<double>& theta) const {
    for (int i = n_shared_; i < n_; ++i) {
        const int like = begins_as_[i - n_shared_];
        theta[i] = like < 0 ? 1.0 : theta[like];
    }
    for (int i = 0; n_ > n_shared_ && i < n_shared_; ++i)
        if (!in_use_[i]) theta[i] = 0.0;
}

Newton::Term& Newton::add_term(double weight) {
    if (n_terms_ == static_cast<int>(terms_.size())) terms_.emplace_back();
    Term& term = terms_[n_terms_++];
    term.weight = weight;
    return term;
}

void Newton::scale(const double* A, const double* Omega, std::vector<double>& theta) const {
    const auto u = [&](int v) { return 1.0 / std::sqrt(Omega[v * k_ + v]); };
    for (int i = 0; i < n_rows_; ++i)
        theta[i] = u(entries_[i].row) * A[entries_[i].row * m_ + entries_[i].column];
    for (int i = n_rows_; i < n_shared_; ++i) {
        const auto [a, b] = entries_[i];
        theta[i] = u(a) * u(b) * Omega[a * k_ + b];
    }
    begin_alike(theta);
}

void Newton::unscale(const std::vector<double>& theta, double* A, double* Omega) const {
    std::fill_n(A, k_ * m_, 0.0);
    std::fill_n(Omega, k_ * k_, 0.0);
    double u = 1.0;
    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = entries_[i];
        if (v == j) {  // u_v comes first in its row
            u = theta[i];
            Omega[v * k_ + v] = 1.0 / (u * u);
        }
        A[v * m_ + j] = theta[i] / u;
    }
    for (int i = n_rows_; i < n_shared_; ++i) {
        const auto [a, b] = entries_[i];
        Omega[a * k_ + b] = Omega[b * k_ + a] =
            theta[i] * std::sqrt(Omega[a * k_ + a] * Omega[b * k_ + b]);
    }
}

void Newton::parameters(int group, double* A, double* Omega) {
    Term& term = terms_[group];
    std::vector<double> theta(theta_.begin(), theta_.begin() + n_shared_);
    const double* own = term.own(theta_);
    for (std::size_t i = 0; i < term.base.size(); ++i) theta[term.base[i]] = own[i];
    unscale(theta, A, Omega);
}

bool Newton::start() {
    scale(sweeps_->A().data(), sweeps_->Omega().data(), theta_);
    value_ = evaluate(theta_);
    return value_ < infinity;
}

void Newton::start(const double* B) {
    std::fill(theta_.begin(), theta_.end(), 0.0);
    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = entries_[i];
        theta_[i] = v == j ? 1.0 : -B[v * m_ + j];
    }
    begin_alike(theta_);
    // What the rows of I - B leave of each variable, over the groups that have its row.
    std::vector<double> variance(k_), weight(k_);
    for (int t = 0; t < n_terms_; ++t) {
        Term& term = terms_[t];
        term.f.add_variances(term.own(theta_), term.weight, term.rows, variance.data());
        for (const int v : term.rows) weight[v] += term.weight;
    }
    for (int i = 0; i < n_rows_; ++i) {
        const int v = entries_[i].row;
        theta_[i] /= std::sqrt(std::max(variance[v] / weight[v], rounding_share));
    }
    begin_alike(theta_);
    value_ = evaluate(theta_);
}

void Newton::start(const std::vector<double>& point) {
    theta_ = point;
    value_ = evaluate(theta_);
}

/// f at theta; infinity outside the domain.
double Newton::evaluate(const std::vector<double>& theta) {
    evaluated_ = &theta == &theta_;
    double value = 0.0;
    for (int t = 0; t < n_terms_; ++t)
        value += terms_[t].weight * terms_[t].f.evaluate(terms_[t].own(theta));
    return value;
}

/// Gradient and, if wanted, Hessian (lower triangle) at theta_.
void Newton::differentiate(bool twice) {
    if (!evaluated_) evaluate(theta_);
    if (terms_[0].index.empty()) {
        terms_[0].f.differentiate(theta_.data(), gradient_.data(),
                                  twice ? hessian_.data() : nullptr);
        return;
    }
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    if (twice) std::fill(hessian_.begin(), hessian_.end(), 0.0);
    for (int t = 0; t < n_terms_; ++t) {
        Term& term = terms_[t];
        const int n = term.f.size();
        make_room(term.hessian, twice ? static_cast<std::size_t>(n) * n : 0, stop_);
        term.f.differentiate(term.own(theta_), term.gradient.data(),
                             twice ? term.hessian.data() : nullptr);
        add_derivatives(term, twice);
    }
    if (twice && n_ > n_shared_)
        for (int i = 0; i < n_shared_; ++i)  // what no group has stays where it is
            if (!in_use_[i]) hessian_[static_cast<std::ptrdiff_t>(i) * n_ + i] = 1.0;
}

/// Adds those of one group. A parameter of the group is one of ours, or the product of one with
/// ratios, which brings first and second derivatives with it.
void Newton::add_derivatives(const Term& term, bool twice) {
    const int n = term.f.size();
    const auto H = [&](int p, int q) -> double& {
        return hessian_[static_cast<std::ptrdiff_t>(std::max(p, q)) * n_ + std::min(p, q)];
    };
    const auto own = [&](int i, int c) {
        return term.hessian[static_cast<std::ptrdiff_t>(i) * n + c];
    };
    if (term.ratios.empty()) {
        for (int i = 0; i < n; ++i) {
            gradient_[term.index[i]] += term.weight * term.gradient[i];
            for (int c = 0; twice && c <= i; ++c)
                H(term.index[i], term.index[c]) += term.weight * own(i, c);
        }
        return;
    }
    struct Slope {
        int parameter;
        double slope;
    };
    std::vector<std::vector<Slope>> slopes(n);
    for (int i = 0; i < n; ++i) {
        std::vector<int> factors{term.index[i]};
        for (const int r : term.ratios[i])
            if (r >= 0) factors.push_back(r);
        const auto without = [&](int p, int q) {
            double product = 1.0;
            for (const int factor : factors)
                if (factor != p && factor != q) product *= theta_[factor];
            return product;
        };
        for (const int p : factors) {
            slopes[i].push_back({p, without(p, p)});
            gradient_[p] += term.weight * term.gradient[i] * slopes[i].back().slope;
            for (const int q : factors)
                if (twice && q < p) H(p, q) += term.weight * term.gradient[i] * without(p, q);
        }
    }
    for (int i = 0; twice && i < n; ++i)
        for (int c = 0; c <= i; ++c)
            for (const Slope& p : slopes[i])
                for (const Slope& q : slopes[c]) {
                    if (i == c && q.parameter > p.parameter) continue;
                    // Both (i, c) and (c, i) bring p with p, where they have it in common.
                    const double times = i != c && p.parameter == q.parameter ? 2.0 : 1.0;
                    H(p.parameter, q.parameter) +=
                        times * term.weight * own(i, c) * p.slope * q.slope;
                }
}

bool Newton::run(double tolerance, int max_steps) {
    decrement_ = infinity;
    if (max_steps == 0) return false;
    for (auto* matrix : {&hessian_, &factor_})
        make_room(*matrix, static_cast<std::size_t>(n_) * n_, stop_);
    double damping = 0.0;  // Levenberg-Marquardt shift, relative to the Hessian's diagonal
    bool moved = true;     // a point whose derivatives and plain step are not known yet
    for (int step = 0; step < max_steps; ++step) {
        ++n_steps_;
        if (moved) {
            differentiate(true);
            const int pivot = solve(0.0);
            decrement_ = pivot == n_ ? gain_ : infinity;
            if (decrement_ <= tolerance) {
                advance();  // a bonus: what is left to gain is within the tolerance
                return true;
            }
            if (damping == 0.0) {
                if (pivot == n_ ? descend() > 0.0 : follow_negative_curvature(pivot)) continue;
                damping = first_damping;
            }
            moved = false;
        }
        const double fall = solve(damping) == n_ ? descend() : 0.0;
        if (fall > 0.0) {
            moved = true;
            if (fall > good * gain_)
                damping = damping > least_damping ? after_good_step * damping : 0.0;
            if (fall < poor * gain_) damping *= after_poor_step;
        } else {
            damping *= after_failure;
            if (damping > most_damping) return false;
        }
    }
    return false;
}

/// Solves (H + damping |diag H|) step = -gradient; `gain_` is the fall of f that the quadratic
/// model then promises. Returns n_, or the pivot at which the matrix proved not definite.
int Newton::solve(double damping) {
    for (int i = 0; i < n_; ++i) {
        if (stop_) stop_->check();  // a large Hessian takes a while to copy, too
        const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(i) * n_;
        std::copy_n(&hessian_[row], i + 1, &factor_[row]);
        factor_[row + i] += damping * std::abs(hessian_[row + i]);
    }
    const int pivot = cholesky(factor_.data(), n_, stop_);
    if (pivot < n_) return pivot;
    for (int i = 0; i < n_; ++i) step_[i] = -gradient_[i];
    solve_lower(factor_.data(), n_, step_.data());
    gain_ = 0.5 * dot(step_.data(), step_.data(), n_);
    solve_lower_transposed(factor_.data(), n_, step_.data());
    return n_;
}

/// Moves along the step, one way or another. Returns by how much f fell (0: not moved).
double Newton::descend() {
    double fall = advance();
    if (fall <= 0.0) fall = advance_and_relax();
    if (fall <= 0.0) fall = leap();
    return fall;
}

/// Moves to theta + step if f falls there, and on, doubling the step, while that pays more than a
/// quadratic would.
double Newton::advance() {
    double best = value_;
    bool at_best = false;  // whether the last evaluation was that of the best point
    for (double length = 1.0;; length *= 2.0) {
        for (int i = 0; i < n_; ++i) trial_[i] = theta_[i] + length * step_[i];
        const double value = evaluate(trial_);
        at_best = value < best;
        if (!at_best) break;
        const double fall = best - value;
        best = value;
        best_.swap(trial_);
        if (fall < gain_) break;
    }
    const double fall = value_ - best;
    if (fall > 0.0) {
        theta_.swap(best_);
        value_ = best;
        evaluated_ = at_best;
    }
    return fall;
}

/// In a curved valley a long step ends up on its wall, where f is higher. Two sweeps bring it
/// back to the floor, further along: each sweep solves every equation of its own exactly.
double Newton::advance_and_relax() {
    if (n_ > n_shared_) return 0.0;  // sweeps know nothing of what a group has to itself
    for (const double length : shortened) {
        for (int i = 0; i < n_; ++i) trial_[i] = theta_[i] + length * step_[i];
        if (evaluate(trial_) == infinity) continue;
        unscale(trial_, A_.data(), Omega_.data());
        if (!sweeps_->start(A_.data(), Omega_.data()) || !sweeps_->sweep() || !sweeps_->sweep())
            continue;
        scale(sweeps_->A().data(), sweeps_->Omega().data(), trial_);
        const double value = evaluate(trial_), fall = value_ - value;
        if (!(fall > poor * length * gain_)) continue;
        theta_.swap(trial_);
        value_ = value;
        evaluated_ = true;
        return fall;
    }
    return 0.0;
}

/// Crosses a pole. Where the pseudo-variables of node v become collinear with its parents, row v of
/// B and Omega runs to infinity, and f, minimised over that row, is smooth again on the far side,
/// with the signs of the row reversed. So we look far along the step in all parameters but those of
/// the node whose error is most nearly determined by the others, and fit this node anew.
double Newton::leap() {
    if (n_ > n_shared_) return 0.0;
    int v = -1;
    double steepest = 0.0;  // entry of the diagonal of W
    for (int t = 0; t < n_terms_; ++t) {
        const std::vector<int>& rows = terms_[t].rows;
        const std::vector<double>& W = terms_[t].f.W();
        for (std::size_t w = 0; w < rows.size(); ++w)
            if (W[w * rows.size() + w] > steepest) {
                v = rows[w];
                steepest = W[w * rows.size() + w];
            }
    }
    if (steepest < near_pole) return 0.0;

    double best = value_;
    for (const double length : leaps) {
        for (int i = 0; i < n_; ++i) {
            const auto [a, b] = entries_[i];
            const bool free = a == v || (i >= n_rows_ && b == v);
            trial_[i] = free ? (a == b ? 1.0 : 0.0) : theta_[i] + length * step_[i];
        }
        if (evaluate(trial_) == infinity) break;
        unscale(trial_, A_.data(), Omega_.data());
        if (!sweeps_->start(A_.data(), Omega_.data()) || !sweeps_->step(v) || !sweeps_->sweep())
            continue;
        scale(sweeps_->A().data(), sweeps_->Omega().data(), trial_);
        const double value = evaluate(trial_);
        if (!(value < best)) continue;
        best = value;
        best_.swap(trial_);
    }
    const double fall = value_ - best;
    if (!(fall > poor * gain_)) return 0.0;
    theta_.swap(best_);
    value_ = best;
    return fall;
}

/// The Cholesky factorisation of the Hessian broke down at `pivot`: f curves downwards along
/// (-L^-T l, 1), where (L, l) are the finished rows and the row of the pivot. A saddle point has no
/// gradient to leave by, so we walk along this direction, to the side that falls.
bool Newton::follow_negative_curvature(int pivot) {
    const auto row = [&](int i) { return &factor_[static_cast<std::ptrdiff_t>(i) * n_]; };
    std::fill(step_.begin(), step_.end(), 0.0);
    for (int i = 0; i < pivot; ++i) step_[i] = -row(pivot)[i];
    for (int i = pivot - 1; i >= 0; --i) {
        step_[i] /= row(i)[i];
        axpy(-step_[i], row(i), step_.data(), i);
    }
    step_[pivot] = 1.0;
    double size = 0.0;
    for (double entry : step_) size = std::max(size, std::abs(entry));
    const bool rises = dot(gradient_.data(), step_.data(), n_) > 0.0;
    double length = (rises ? -first_excursion : first_excursion) / size;
    for (; std::abs(length) * size > last_excursion; length *= next_excursion) {
        for (int i = 0; i < n_; ++i) trial_[i] = theta_[i] + length * step_[i];
        const double value = evaluate(trial_);
        if (!(value < value_)) continue;
        theta_.swap(trial_);
        value_ = value;
        evaluated_ = true;
        return true;
    }
    return false;
}

double Newton::gradient_norm() {
    differentiate(false);
    double largest = 0.0;
    for (double g : gradient_) largest = std::max(largest, std::abs(g));
    return largest;
}

double Newton::smallest_eigenvalue() const {
    std::vector<double> R(k_ * k_);
    for (int v = 0; v < k_; ++v) R[v * k_ + v] = 1.0;
    for (int i = n_rows_; i < n_shared_; ++i) {
        const auto [a, b] = entries_[i];
        R[a * k_ + b] = R[b * k_ + a] = theta_[i];
    }
    return bowfree::smallest_eigenvalue(R.data(), k_, stop_);
}

}  // namespace bowfree
