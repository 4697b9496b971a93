R"cuda(
// ---- Parts of printed loop nests.

// Elements of neighbouring columns that are moved in one access.
template <class T, int kCount> struct alignas(sizeof(T) * kCount) Vector {
  T at[kCount];
};
// `count` elements are left in the row. Unless the address is aligned, element by element.
template <bool kAligned, class T, int kCount, class Index>
INLINE void load_vector(Vector<T, kCount>& to, const T* from, Index count) {
  if (kCount == 1 || (kAligned && count >= kCount)) {
    to = *(const Vector<T, kCount>*)from;
    return;
  }
#pragma unroll
  for (int e = 0; e < kCount; ++e)
    if (e < count) to.at[e] = from[e];
}
template <bool kAligned, class T, int kCount, class Index>
INLINE void store_vector(const Vector<T, kCount>& from, T* to, Index count) {
  if (kCount == 1 || (kAligned && count >= kCount)) {
    *(Vector<T, kCount>*)to = from;
    return;
  }
#pragma unroll
  for (int e = 0; e < kCount; ++e)
    if (e < count) to[e] = from.at[e];
}

#define REDUCTION(Name, function) \
  struct Name { \
    template <class T> static INLINE T of(T a, T b) { return function(a, b); } \
  };
REDUCTION(Sum, op::add) REDUCTION(Product, op::multiply) REDUCTION(Maximum, op::maximum)
REDUCTION(Minimum, op::minimum) REDUCTION(All, op::multiply) REDUCTION(Any, op::add)
#undef REDUCTION

template <class T> INLINE T of_lane(T x, int lane) { return __shfl_sync(0xffffffffu, x, lane); }
template <class T> INLINE T of_partner(T x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
#define THROUGH_INT(T) \
  INLINE T of_lane(T x, int lane) { return (T)__shfl_sync(0xffffffffu, (int)x, lane); } \
  INLINE T of_partner(T x, int mask) { return (T)__shfl_xor_sync(0xffffffffu, (int)x, mask); }
THROUGH_INT(bool) THROUGH_INT(i8) THROUGH_INT(u8) THROUGH_INT(i16) THROUGH_INT(u16)
#undef THROUGH_INT
#define BY_PARTS(C) \
  INLINE C of_lane(C x, int lane) { return C{of_lane(x.re, lane), of_lane(x.im, lane)}; } \
  INLINE C of_partner(C x, int mask) { return C{of_partner(x.re, mask), of_partner(x.im, mask)}; }
BY_PARTS(c64) BY_PARTS(c128)
#undef BY_PARTS

// The combination of a warp's values, in the same order for all of its lanes.
template <class Op, class T> INLINE T join_warp(T x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) x = Op::of(x, of_partner(x, mask));
  return of_lane(x, 0);
}
// The same of a block's; `scratch` is shared memory for one value of each warp.
template <class Op, int kThreads, class T> INLINE T join_block(T x, void* scratch) {
  T* const of_warps = (T*)scratch;
  x = join_warp<Op>(x);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = of_warps[0];
#pragma unroll
  for (int warp = 1; warp < kThreads / 32; ++warp) x = Op::of(x, of_warps[warp]);
  __syncthreads();
  return x;
}
)cuda"
