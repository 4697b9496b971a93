// The normal forms of Unicode, with what became of each character.
#pragma once

#include "plait/text/inside/aligned_text.h"

namespace plait::text {

struct NormalForm {
  bool is_compatible;  // NFKC, NFKD
  bool is_composed;    // NFC, NFKC
};
void normalize(AlignedText& text, NormalForm form);

}  // namespace plait::text
