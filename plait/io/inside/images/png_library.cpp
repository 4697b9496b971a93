#ifdef PLAIT_HAVE_PNG
#include "plait/io/inside/images/png_library.h"

#include <cstring>

namespace plait {

void escape_png(png_structp state, png_const_charp text) {
  auto& errors = *static_cast<PngErrors*>(png_get_error_ptr(state));
  std::strncpy(errors.text, text, sizeof errors.text - 1);
  std::longjmp(errors.escape, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

}  // namespace plait
#endif
