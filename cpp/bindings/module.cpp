// The module `bowfree._core`.
#include <nanobind/nanobind.h>

#include "bindings/bindings.hpp"
#include "stop.hpp"
#include "threads.hpp"

namespace {

namespace nb = nanobind;

/// Raises errors of the core as errors of the package.
void raise_own_error(const std::exception_ptr& thrown, void*) {
    const auto raise = [](const char* name, const char* message) {
        nb::object error = nb::module_::import_("bowfree.errors").attr(name);
        PyErr_SetString(error.ptr(), message);
    };
    try {
        std::rethrow_exception(thrown);
    } catch (const bowfree::Stopped&) {
        raise("TimeIsUp", "the time limit was reached before there was a result; allow more time");
    } catch (const bowfree::NoThread& error) {
        raise("BowfreeError", error.what());
    }
}

}  // namespace

NB_MODULE(_core, m) {  // NOLINT: a macro
    m.doc() = "The compiled core of bowfree; use it through the functions of the package.";
    nb::register_exception_translator(raise_own_error);
    bowfree::bindings::bind_data(m);
    bowfree::bindings::bind_effects(m);
    bowfree::bindings::bind_equivalence(m);
    bowfree::bindings::bind_exact(m);
    bowfree::bindings::bind_model(m);
    bowfree::bindings::bind_search(m);
    bowfree::bindings::bind_space(m);
    bowfree::bindings::bind_uncertainty(m);
}
