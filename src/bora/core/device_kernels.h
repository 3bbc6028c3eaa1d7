// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a device's plug-in brings beside libtorch's ops for it.
#pragma once
#include <cstdint>
#include <string>

#include "bora/base/key.h"
#include "bora/core/activation_function.h"
#include "bora/core/adamw_step.h"
#include "bora/core/attention_shape.h"
#include "bora/core/device.h"
#include "bora/core/device_lists.h"
#include "bora/core/fp8.h"
#include "bora/core/head_map.h"
#include "bora/core/rope_shape.h"

namespace bora::core {

/// A device's own kernels, each in the place of a plain op (core/plain), which is computed where an entry is
/// null or a PlainOpsScope lives. They get the addresses of contiguous arrays on the device, sizes, and the stream to work on: a
/// plug-in needs no header of libtorch. An entry returns before it is done. Its result is within rounding of
/// the plain op's, and the same every time. Elements at a `void*` are fp32 or bf16, as the `type` beside says;
/// computed is in fp32. Where an op has entries for both passes, both are there, or neither.
struct DeviceKernels {
  using Stream = void*;  ///< as the device's own library has it (cudaStream_t)

  // Of each of `count` arrays (core/device_lists.h), in as few launches as there can be; the list may go when an entry
  // has returned.

  /// One step of kernels::AdamW, with the array's decay in place of the step's.
  void (*adamw)(const kernels::AdamW& step, std::int64_t count, const kernels::Stepped* arrays,
                Stream stream) = nullptr;
  /// The same with moments in bf16.
  void (*adamw_bf16)(const kernels::AdamW& step, std::int64_t count, const kernels::SteppedBf16* arrays,
                     Stream stream) = nullptr;
  /// into += from, or = from: the additions of the lane tree.
  void (*add_into)(std::int64_t count, const kernels::Added* arrays, Stream stream) = nullptr;
  /// to = from rounded to bf16
  void (*narrow)(std::int64_t count, const kernels::Narrowed* arrays, Stream stream) = nullptr;
  /// `largest`: one number, 0 before, the largest |x|; NaN if an element is not finite.
  void (*max_abs)(std::int64_t count, const kernels::Measured* arrays, Stream stream) = nullptr;
  /// `numbers`, 0 before: kernels::SquareSum::Numbers, exactly, where max_abs has written `largest`. Where that is
  /// NaN, of no meaning.
  void (*square_numbers)(std::int64_t count, const kernels::Measured* arrays, Stream stream) = nullptr;

  // `largest` of the following is null, or one number, 0 before, that gets the largest |element| of the result as
  // max_abs says it: of y, of dx, of both gradients of a gated unit.

  // Norms of the rows of x [rows, n]; `weight`, `bias` [n] and their gradients may be null. As the CPU's, in
  // kernels/cpu/norm.h. With a `residual`, `sum` gets x + residual, rounded, and the norm is of that; then the
  // backward pass has `sum` as x, and adds `dsum`, what comes to the sum by other ways; both null: none.
  struct RmsNorm {
    void (*forward)(DType type, std::int64_t rows, std::int64_t n, const void* x, const void* residual,
                    const float* weight, float eps, void* sum, void* y, float* rstd, float* largest,
                    Stream stream) = nullptr;
    void (*backward)(DType type, std::int64_t rows, std::int64_t n, const void* x, const float* weight,
                     const float* rstd, const void* dy, const void* dsum, void* dx, float* dweight,
                     float* room, float* largest, Stream stream) = nullptr;
  } rms_norm;
  struct LayerNorm {
    void (*forward)(DType type, std::int64_t rows, std::int64_t n, const void* x, const void* residual,
                    const float* weight, const float* bias, float eps, void* sum, void* y, float* mean,
                    float* rstd, float* largest, Stream stream) = nullptr;
    void (*backward)(DType type, std::int64_t rows, std::int64_t n, const void* x, const float* weight,
                     const float* mean, const float* rstd, const void* dy, const void* dsum, void* dx,
                     float* dweight, float* dbias, float* room, float* largest, Stream stream) = nullptr;
  } layer_norm;
  /// Floats at `room` of both backward passes, for sums in between; null: they need none.
  std::int64_t (*norm_room)(std::int64_t rows, std::int64_t n) = nullptr;

  /// The gradient of a bias: out [n] = sum of the rows of x [rows, n], which begin `stride` elements apart.
  void (*bias_gradient)(DType type, std::int64_t rows, std::int64_t n, const void* x, std::int64_t stride,
                        float* out, Stream stream) = nullptr;

  // Of n elements, as kernels/cpu/activation.h.
  struct Activate {
    void (*forward)(Activation f, DType type, std::int64_t n, const void* x, void* y, float* largest,
                    Stream stream) = nullptr;
    void (*backward)(Activation f, DType type, std::int64_t n, const void* x, const void* dy, void* dx,
                     float* largest, Stream stream) = nullptr;
  } activate;
  // Of `rows` of n elements, which begin `stride` elements apart in gate and up, `gradient_stride` in their
  // gradients; the others without gaps.
  struct Gated {
    void (*forward)(Activation f, DType type, std::int64_t rows, std::int64_t n, const void* gate,
                    const void* up, std::int64_t stride, void* y, float* largest, Stream stream) = nullptr;
    void (*backward)(Activation f, DType type, std::int64_t rows, std::int64_t n, const void* gate,
                     const void* up, std::int64_t stride, const void* dy, void* dgate, void* dup,
                     std::int64_t gradient_stride, float* largest, Stream stream) = nullptr;
  } gated;

  // Products with an activation in them, as a library of matrix products computes them: within rounding of both by
  // themselves. Rows lie without gaps. False, and nothing is done: it has none of such sizes or addresses.
  struct ActivatedProduct {
    bool (*takes)(Activation f, DType type) = nullptr;
    /// z = x [rows, k] · weight [n, k]^T + bias [n], which may be null, and y = f(z), both [rows, n].
    bool (*forward)(Activation f, DType type, std::int64_t rows, std::int64_t n, std::int64_t k,
                    const void* x, const void* weight, const void* bias, void* z, void* y, void* room,
                    Stream stream) = nullptr;
    /// dz [rows, n] = dy [rows, m] · weight [m, n] · f'(z)
    bool (*backward)(Activation f, DType type, std::int64_t rows, std::int64_t n, std::int64_t m,
                     const void* dy, const void* weight, const void* z, void* dz, void* room,
                     Stream stream) = nullptr;
    std::int64_t room = 0;  ///< bytes at `room`
  } activated_product;

  // To fp8 (core/fp8.h), as kernels/cpu/fp8.h.
  struct Narrow8 {
    /// `largest`: one number, 0 before, the largest |x|; NaN if an element is not finite.
    void (*max_abs)(DType type, std::int64_t n, const void* x, float* largest, Stream stream) = nullptr;
    /// y [rows, n] and `turned` [n, rows], of which one may be null, get x [rows, n] times the scale; `inverse` gets 1 /
    /// scale. Rows and n are multiples of 16. Of x's `parts` each has its number at `largest`, NaN above all.
    void (*quantize)(DType type, Fp8 format, std::int64_t rows, std::int64_t n, const void* x,
                     const float* largest, std::int64_t parts, void* y, void* turned, float* inverse,
                     Stream stream) = nullptr;
  } narrow8;

  // As kernels/cpu/attention.h, of whole keys.
  struct Attention {
    using In = kernels::HeadsRef<const void>;
    using Out = kernels::HeadsRef<void>;
    /// Whether the others compute such a rule, of which the pointers say no more than whether they are null.
    bool (*takes)(DType type, const kernels::AttentionShape& shape,
                  const kernels::AttentionRule& rule) = nullptr;
    void (*forward)(DType type, const kernels::AttentionShape& shape, const kernels::AttentionRule& rule,
                    In q, In k, In v, Out out, float* lse, Stream stream) = nullptr;
    void (*backward)(DType type, const kernels::AttentionShape& shape, const kernels::AttentionRule& rule,
                     In q, In k, In v, In out, const float* lse, In dout, Out dq, Out dk, Out dv, float* room,
                     Stream stream) = nullptr;
    /// Floats at `room`, for sums in between; null: it needs none.
    std::int64_t (*room)(const kernels::AttentionShape& shape) = nullptr;
  } attention;
  /// As kernels/cpu/rope.h, of one or two arrays of the same positions, as queries and keys are, by one kernel.
  void (*rope)(std::int64_t count, const kernels::Turned* arrays, DType type, const float* cos,
               const float* sin, bool inverse, Stream stream) = nullptr;
  /// As kernels/cpu/random.h: what is kept is what the CPU keeps. Where `there` is not null, the key is the one that lies
  /// at that address of the device when the kernel runs.
  void (*dropout)(Key key, const Key* there, std::int64_t first, std::int64_t n, float p, DType type,
                  const void* x, void* y, Stream stream) = nullptr;

  // The gradient of a table [vocab, width], from which the forward pass copies rows, as libtorch does.
  struct Embedding {
    /// table[id] = sum of dy [places, width] over the places of the id; `table` is 0 before. `ids` [places]
    /// are sorted, one outside of the table is left out; `order` [places] says where in dy each stood,
    /// ascending within an id.
    void (*backward)(DType type, std::int64_t places, std::int64_t width, std::int64_t vocab,
                     const std::int32_t* ids, const std::int32_t* order, const void* dy, float* table,
                     float* room, Stream stream) = nullptr;
    /// Floats at `room`, for sums in between; null: it needs none.
    std::int64_t (*room)(std::int64_t places, std::int64_t width) = nullptr;
  } embedding;
  // The slots of n > 0 choices of experts, of which there are at most 1023.
  struct Slots {
    /// `choices` [n]: i32 or i64; one that is no expert counts as the nearest one.
    void (*plan)(DType type, std::int64_t n, std::int64_t experts, const void* choices,
                 const kernels::SlotPlaces& to, std::int32_t* room, Stream stream) = nullptr;
    /// Whole numbers at `room`, for counts in between; null: it needs none.
    std::int64_t (*room)(std::int64_t n, std::int64_t experts) = nullptr;
  } slots;
  /// As kernels/cpu/cross_entropy.h: losses of rows of products x, `stride` elements apart, in whose place come
  /// their gradients. Both are NaN in a row whose target is beyond the vocabulary.
  void (*cross_entropy)(DType type, std::int64_t rows, std::int64_t vocab, void* x, std::int64_t stride,
                        const std::int32_t* targets, const float* weights, float z_loss, float* loss,
                        float* lse, bool gradient, const kernels::HeadMap& map, Stream stream) = nullptr;

  /// Work that is noted instead of done, and then done by one launch, as often as is wanted: over the same addresses, with
  /// the same sizes and numbers (core/step_graph.h). All four are there, or none.
  struct Graph {
    bool (*begin)(Stream stream) =
        nullptr;  ///< from here on this thread's work on `stream` is noted; false: it cannot be
    void* (*end)(Stream stream) = nullptr;  ///< null: something was asked for that cannot be noted, as a wait
    bool (*launch)(void* graph, Stream stream) = nullptr;
    void (*destroy)(void* graph) = nullptr;
  } graph;

  /// Copies between its memory and the host's, by a stream of their own that runs beside the others: nothing but events
  /// orders them (core/autograd/copier.h). What they make stays to the end of the program. All are there, or none.
  struct Copies {
    void* (*pinned)(std::int64_t bytes) = nullptr;   ///< memory of the host; null: it cannot be had
    Stream (*stream)(std::int8_t device) = nullptr;  ///< a new one; null: it cannot be had
    void* (*event)(std::int8_t device) = nullptr;    ///< the same
    /// The event is reached when all that `stream` has been given so far is done.
    bool (*record)(void* event, Stream stream) = nullptr;
    /// What `stream` is given from now on is done when the event, as it was recorded last, has been reached.
    bool (*wait)(Stream stream, void* event) = nullptr;
    /// Between an array and pinned memory, either way.
    bool (*copy)(void* to, const void* from, std::int64_t bytes, Stream stream) = nullptr;
  } copies;
};

/// Bytes of arrays on a device: now, and the most since start, what graphs work in among them; then those of the device
/// itself, of which others may use some.
struct DeviceMemory {
  std::int64_t live = 0, peak = 0;
  std::int64_t total = 0, free = 0;  ///< both 0: it does not tell
};

/// What a plug-in says of a type of device when it is opened.
struct DeviceSupport {
  DeviceKernels kernels;
  bool (*has_kernels)(std::int8_t index) = nullptr;  ///< whether they run on that one; null: on each
  DeviceMemory (*memory)(std::int8_t index) = nullptr;
  std::string (*description)(std::int8_t index) = nullptr;  ///< "NVIDIA H100 80GB"
  /// How often its allocator has given memory back that arrays had taken, since the start: what a graph works in may be
  /// gone then. Null: it never does.
  std::int64_t (*times_given_back)(std::int8_t index) = nullptr;
  /// From now on the peak of memory() is counted anew.
  void (*count_anew)(std::int8_t index) = nullptr;
};
/// Before the first array is made there. The last one counts.
void register_device(Device::Type type, const DeviceSupport& support);

/// Before a device is used: where the kernels of its type do not run on it there are none on it, which a line says.
void look_at_kernels(Device device);

/// This thread's own device of a type; the index of the one before.
std::int8_t exchange_own_device(Device device);
void give_own_device_back(Device device) noexcept;

/// How many devices of a type there are for this program: one CPU.
int device_count(Device::Type type);
/// Of a device, as its plug-in has said: its name, where it has said nothing.
std::string description(Device device);
DeviceMemory device_memory(Device device);
void count_memory_anew(Device device);  ///< from now on the most of it
/// So many bytes more (fewer, below 0) that its allocator has back and keeps for graphs, which work in them. What it says
/// itself, and the most since the last such call.
DeviceMemory hold_for_graphs(Device device, std::int64_t bytes);
std::int64_t times_given_back(Device device);  ///< as DeviceSupport's

}  // namespace bora::core
