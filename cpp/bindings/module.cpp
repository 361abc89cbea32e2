// The table of contents of `bowfree._core`: one bind_* function per part of the core.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace bowfree::bindings {

void bind_sampler(nb::module_& m);

}  // namespace bowfree::bindings

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of bowfree; use it through the functions of the package.";
    bowfree::bindings::bind_sampler(m);
}
