#ifdef PLAIT_HAVE_JPEG
#include "plait/io/inside/images/jpeg_errors.h"

#include <cstring>

#include <jerror.h>

namespace plait {
namespace {

void escape_with_message(j_common_ptr state) {
  char text[JMSG_LENGTH_MAX];
  state->err->format_message(state, text);
  escape_jpeg(state, text);
}

// Files that other programs accept: surplus bytes between segments, odd versions and profiles.
bool is_harmless(int message) {
  switch (message) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_TOO_MUCH_DATA:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_ADOBE_XFORM:
    case JWRN_JFIF_MAJOR:
    case JWRN_BOGUS_ICC: return true;
    default: return false;
  }
}

void note_message(j_common_ptr state, int level) {
  const bool is_warning = level < 0;
  if (!is_warning || is_harmless(state->err->msg_code)) return;
  if (!JpegErrors::of(state).accepts_damage) escape_with_message(state);
}

void print_nothing(j_common_ptr) {}

}  // namespace

jpeg_error_mgr* JpegErrors::begin() {
  jpeg_std_error(&manager);
  manager.error_exit = escape_with_message;
  manager.emit_message = note_message;
  manager.output_message = print_nothing;
  return &manager;
}

void escape_jpeg(j_common_ptr state, const char* text) {
  JpegErrors& errors = JpegErrors::of(state);
  std::strncpy(errors.text, text, sizeof errors.text - 1);
  std::longjmp(errors.escape, 1);
}

}  // namespace plait
#endif
