#include "plait/text/inside/stages/metaspace.h"

#include "plait/core/text.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/stages/pre_tokenizer.h"

namespace plait::text {
namespace {

constexpr std::string_view kSchemes[] = {"first", "never", "always"};

class MetaspacePreTokenizer : public PreTokenizer {
 public:
  explicit MetaspacePreTokenizer(MetaspaceOptions options) : options_(options) {
    append_utf8(mark_, options.mark);
  }

  void apply(SplitText& split) const override {
    Rewriter rewriter(split.text);
    std::vector<TextPiece> pieces;
    pieces.reserve(split.pieces.size());
    for (const TextPiece& piece : split.pieces) {
      rewriter.seek(piece.part.begin);
      const uint32_t begin = rewriter.written();
      if (piece.is_token()) {
        rewriter.keep(piece.part.size());
        pieces.push_back({{begin, rewriter.written()}, piece.token});
      } else {
        rewrite_word(split.text, piece.part, rewriter, pieces);
      }
    }
    split = {rewriter.finish(), std::move(pieces)};
  }
  void write(JsonWriter& out) const override { options_.write(out); }

 private:
  bool is_prepended(const AlignedText& text, Span word) const {
    const std::string_view all = text.text(word);
    if (all.starts_with(mark_) || all.starts_with(' ')) return false;
    return options_.prepend == PrependScheme::always ||
           (options_.prepend == PrependScheme::first && text.original(word).begin == 0);
  }

  // Writes a word with its marks, split before each of them that does not follow another one.
  void rewrite_word(const AlignedText& text, Span word, Rewriter& rewriter,
                    std::vector<TextPiece>& pieces) const {
    uint32_t begin = rewriter.written();
    const auto end_piece = [&] {
      const uint32_t end = rewriter.written();
      if (begin < end) pieces.push_back({{begin, end}, TextPiece::kNoToken});
      begin = end;
    };
    if (is_prepended(text, word)) rewriter.insert_as_next(mark_);
    while (rewriter.position() < word.end) {
      const std::string_view rest = text.text({rewriter.position(), word.end});
      const bool is_space = rest[0] == ' ';
      if (is_space || rest.starts_with(mark_)) {
        if (options_.splits) end_piece();
        if (is_space) {
          rewriter.insert_as_next(mark_);
          rewriter.remove(1);
        } else {
          rewriter.keep(static_cast<uint32_t>(mark_.size()));
        }
        continue;
      }
      rewriter.keep(static_cast<uint32_t>(run_size(rest)));
    }
    end_piece();
  }

  // Bytes before the next space or mark.
  size_t run_size(std::string_view rest) const {
    size_t size = 0;
    while (size < rest.size() && rest[size] != ' ' &&
           !(rest[size] == mark_[0] && rest.substr(size).starts_with(mark_))) {
      ++size;
    }
    return size;
  }

  MetaspaceOptions options_;
  std::string mark_;
};

}  // namespace

MetaspaceOptions MetaspaceOptions::read(JsonFields& fields) {
  MetaspaceOptions options;
  options.mark = fields.character("replacement");
  if (const auto scheme = fields.optional_string("prepend_scheme")) {
    size_t i = 0;
    while (i < std::size(kSchemes) && kSchemes[i] != *scheme) ++i;
    if (i == std::size(kSchemes)) {
      fields.fail("prepend_scheme", "{} is not supported", in_quotes(*scheme));
    }
    options.prepend = static_cast<PrependScheme>(i);
  }
  if (fields.optional_boolean("add_prefix_space") == false) {  // in old files
    if (fields.find("prepend_scheme") != nullptr && options.prepend != PrependScheme::never) {
      fields.fail("add_prefix_space", "it is false, but prepend_scheme is not \"never\"");
    }
    options.prepend = PrependScheme::never;
  }
  options.splits = fields.boolean_or("split", true);
  fields.ignore("str_rep");
  return options;
}

void MetaspaceOptions::write(JsonWriter& out) const {
  out.begin_typed("Metaspace");
  out.key("replacement");
  out.character(mark);
  out.member("prepend_scheme", kSchemes[static_cast<size_t>(prepend)]);
  out.member("split", splits);
  out.end_object();
}

PreTokenizerPointer read_metaspace(JsonFields& fields) {
  return std::make_shared<MetaspacePreTokenizer>(MetaspaceOptions::read(fields));
}

}  // namespace plait::text
