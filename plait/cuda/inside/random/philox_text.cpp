#include "plait/cuda/inside/random/philox_text.h"

namespace plait::cuda {

const std::string_view kPhiloxText = R"(
struct Key { u64 first, second; };
struct Keys { Key first; const Key* all; };
INLINE Key key_at(const Keys& keys, i64 i) { return keys.all ? keys.all[i] : keys.first; }

INLINE uint4 philox(uint4 x, u64 key) {
  u32 first = (u32)key, second = (u32)(key >> 32);
  #pragma unroll
  for (int round = 0; round < 10; ++round) {
    x = make_uint4(__umulhi(0xcd9e8d57u, x.z) ^ x.y ^ first, 0xcd9e8d57u * x.z,
                   __umulhi(0xd2511f53u, x.x) ^ x.w ^ second, 0xd2511f53u * x.x);
    first += 0x9e3779b9u;
    second += 0xbb67ae85u;
  }
  return x;
}
INLINE uint4 stream_block(Key key, u64 number) {
  return philox(make_uint4((u32)number, (u32)(number >> 32), (u32)key.second, (u32)(key.second >> 32)), key.first);
}
INLINE u64 first_word(uint4 x) { return x.x | (u64)x.y << 32; }
INLINE u64 second_word(uint4 x) { return x.z | (u64)x.w << 32; }
INLINE u64 stream_word(Key key, u64 number) {
  const uint4 block = stream_block(key, number / 2);
  return number % 2 == 0 ? first_word(block) : second_word(block);
}
INLINE Key folded_key(Key key, u64 number) {
  key.first ^= 0xa4093822299f31d0ull;
  const uint4 block = stream_block(key, number);
  key.first = first_word(block);
  key.second = second_word(block);
  return key;
}
)";

}  // namespace plait::cuda
