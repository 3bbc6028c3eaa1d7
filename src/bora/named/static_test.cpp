// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// What the compiler alone decides: this file passes by compiling.
#include "bora/named/fields.h"
#include "bora/named/grad.h"
#include "bora/named/ops.h"

namespace bora {
namespace {

struct A : axis<"a"> {};
struct B : axis<"b"> {};
struct C : axis<"c"> {};
struct D : axis<"d"> {};
struct Other : axis<"a"> {};  // another type with the same name is another axis
struct NotAnAxis {
  static constexpr std::string_view name = "a";
};

template <class X, class Y>
inline constexpr bool same = std::is_same_v<X, Y>;
template <class T>
const T& value();  // for decltype

// ---- axes
// ----------------------------------------------------------------------------------------------------------

static_assert(A::name == "a" && Axes<A, B>::names[1] == "b" && Axes<>::rank == 0);
static_assert(Axis<A> && !Axis<NotAnAxis> && !Axis<int>);
static_assert(std::is_empty_v<A> && sizeof(Dim<A>) == sizeof(std::int64_t));

static_assert(contains<A, Axes<B, A>> && !contains<C, Axes<A, B>> && !contains<Other, Axes<A>>);
static_assert(index_of<A, Axes<A, B>> == 0 && index_of<B, Axes<A, B>> == 1 && index_of<C, Axes<A, B>> == -1);
static_assert(subset<Axes<>, Axes<A>> && subset<Axes<B, A>, Axes<A, B, C>> &&
              !subset<Axes<A, D>, Axes<A, B>>);
static_assert(same_axes<Axes<A, B>, Axes<B, A>> && !same_axes<Axes<A>, Axes<A, B>>);
static_assert(distinct<Axes<>> && distinct<Axes<A, B>> && !distinct<Axes<A, B, A>>);

static_assert(same<concat<Axes<A>, Axes<B, C>>, Axes<A, B, C>>);
static_assert(same<without<Axes<A, B, C>, Axes<C, A>>, Axes<B>> && same<without<Axes<A>, Axes<>>, Axes<A>>);
static_assert(same<joined<Axes<B, A>, Axes<A, C>>, Axes<B, A, C>>);
static_assert(same<renamed<Axes<A, B>, A, C>, Axes<C, B>>);
static_assert(same<replaced<Axes<A, B, C>, Axes<B>, Axes<D>>, Axes<A, D, C>>);
static_assert(same<replaced<Axes<A, B, C>, Axes<C, A>, Axes<D>>, Axes<B, D>>);  // where the first named stood
static_assert(same<replaced<Axes<A, B>, Axes<B>, Axes<>>, Axes<A>>);
static_assert(same<as_axes<A>, Axes<A>> && same<as_axes<Axes<A, B>>, Axes<A, B>>);

// ---- tensors
// -------------------------------------------------------------------------------------------------------

using X = Named<A, B>;
using Y = Named<B, C>;
using I = Indices<A>;

static_assert(sizeof(Named<>) == sizeof(void*) && sizeof(Named<A, B, C, D>) == sizeof(void*));
static_assert(sizeof(Indices<A, B>) == sizeof(void*));
static_assert(same<axes_of<X>, Axes<A, B>> && same<axes_of<const X&>, Axes<A, B>> &&
              same<axes_of<I>, Axes<A>>);
static_assert(same<named_over<Axes<A, B>>, X> && same<indices_over<Axes<A>>, I>);

static_assert(NamedTensor<X> && NamedTensor<const X&> && !NamedTensor<I> && !NamedTensor<int>);
static_assert(IndexTensor<I> && !IndexTensor<X> && AnyTensor<I> && AnyTensor<X> && !AnyTensor<double>);
static_assert(HasAxes<X, A> && HasAxes<X, B, A> && HasAxes<X> && !HasAxes<X, A, C> && !HasAxes<int, A>);
static_assert(LacksAxes<X, C, D> && !LacksAxes<X, A, C> && !LacksAxes<int, A>);
static_assert(Broadcastable<X, Named<B>> && Broadcastable<Named<>, X> && Broadcastable<X, Named<B, A>>);
static_assert(!Broadcastable<X, Y> && !Broadcastable<Named<A>, Named<B>>);
static_assert(SameAxes<X, Named<B, A>> && !SameAxes<X, Named<A>>);

// Any order converts; other axes do not, nor arrays, nor ids to numbers.
static_assert(std::is_convertible_v<Named<B, A>, X> && std::is_convertible_v<Indices<B, A>, Indices<A, B>>);
static_assert(!std::is_constructible_v<X, Named<A>> && !std::is_constructible_v<X, Named<A, C>>);
static_assert(!std::is_constructible_v<X, Named<Other, B>> && !std::is_constructible_v<X, core::Array>);
static_assert(!std::is_constructible_v<Named<A>, I> && !std::is_constructible_v<I, Named<A>>);
static_assert(std::is_convertible_v<X, DynNamed> && !std::is_constructible_v<X, DynNamed>);
static_assert(!std::is_convertible_v<std::int64_t, Dim<A>> && !std::is_constructible_v<Dim<A>, Dim<B>>);
static_assert(std::is_nothrow_move_constructible_v<X>);

// ---- results: which axes, in which order
// ---------------------------------------------------------------------------

#define RESULT(...) decltype(__VA_ARGS__)
const X x;
const Y y;
const Named<B> b;
const Named<B, A> ba;
const Named<> scalar;
const I ids;

static_assert(same<RESULT(x + b), X> && same<RESULT(b + x), Named<B, A>> && same<RESULT(x* ba), X>);
static_assert(same<RESULT(ba - x), Named<B, A>> && same<RESULT(x / scalar), X> && same<RESULT(2 * x + 1), X>);
static_assert(same<RESULT(x < b), X> && same<RESULT(logical_not(x > 0)), X> && same<RESULT(pow(x, 2)), X>);
static_assert(same<RESULT(where(b > 0, x, 0)), X> && same<RESULT(where(x > 0, b, x)), Named<B, A>>);

static_assert(same<RESULT(dot<B>(x, y)), Named<A, C>> && same<RESULT(dot<B>(y, x)), Named<C, A>>);
static_assert(same<RESULT(dot<B>(x, b)), Named<A>> && same<RESULT(dot<A, B>(x, ba)), Named<>>);
static_assert(same<RESULT(dot<B>(x, ba)), Named<A>>);  // a shared axis that is not contracted batches

static_assert(same<RESULT(sum<A>(x)), Named<B>> && same<RESULT(mean<B, A>(x)), Named<>>);
static_assert(same<RESULT(total(x)), Named<>> && same<RESULT(mean_all(x)), Named<>>);
static_assert(same<RESULT(argmax<B>(x)), Indices<A>>);
static_assert(same<RESULT(softmax<B>(x)), X> && same<RESULT(log_softmax<A, B>(x)), X> &&
              same<RESULT(cumsum<A>(x)), X>);
static_assert(same<RESULT(top_k<B>(x, Dim<C>{2})), std::pair<Named<A, C>, Indices<A, C>>>);
static_assert(same<RESULT(sort<B>(x)), std::pair<X, Indices<A, B>>>);

static_assert(same<RESULT(rename<A, C>(x)), Named<C, B>> && same<RESULT(rename<A, C>(ids)), Indices<C>>);
static_assert(same<RESULT(rearrange<B, A>(x)), Named<B, A>>);
static_assert(same<RESULT(broadcast(x, Dim<C>{2}, Dim<D>{3})), Named<C, D, A, B>>);
static_assert(same<RESULT(flatten<Axes<A, B>, C>(x)), Named<C>>);
static_assert(same<RESULT(flatten<Axes<C, A>, D>(value<Named<A, B, C>>())), Named<B, D>>);
static_assert(same<RESULT(unflatten<A>(x, Dim<C>{2}, Dim<D>{3})), Named<C, D, B>>);
static_assert(same<RESULT(concatenate<A>(x, ba)), X> && same<RESULT(stack<C>(x, ba)), Named<C, A, B>>);
static_assert(same<RESULT(split<A>(x, {1, 2})), std::vector<X>>);
static_assert(same<RESULT(unbind<A, 3>(x)), std::array<Named<B>, 3>>);
static_assert(same<RESULT(slice<A>(x, 0, 1)), X> && same<RESULT(slice<A>(ids, 0, 1)), I>);
static_assert(same<RESULT(take<A>(x, 0)), Named<B>>);
static_assert(same<RESULT(take<B>(x, value<Indices<C, D>>())), Named<A, C, D>>);
static_assert(same<RESULT(take<B>(x, value<Indices<A>>())), Named<A>>);  // one for each a
static_assert(same<RESULT(take<B>(x, value<Indices<C, A>>())), Named<A, C>>);
static_assert(same<RESULT(scatter_add<A>(x, value<Indices<C>>(), value<Named<C, B>>())), X>);
static_assert(same<RESULT(one_hot(ids, Dim<B>{4})), Named<A, B>>);
static_assert(same<RESULT(zeros(Dim<B>{1}, Dim<A>{2})), Named<B, A>> &&
              same<RESULT(arange(Dim<A>{2})), Named<A>>);
// Ids stay ids where axes change.
static_assert(same<RESULT(flatten<Axes<A, B>, C>(value<Indices<A, B>>())), Indices<C>>);
static_assert(same<RESULT(unflatten<A>(ids, Dim<C>{2}, Dim<D>{3})), Indices<C, D>>);
static_assert(same<RESULT(rearrange<B, A>(value<Indices<A, B>>())), Indices<B, A>>);
static_assert(same<RESULT(broadcast(ids, Dim<C>{2})), Indices<C, A>> &&
              same<RESULT(split<A>(ids, {1, 2})), std::vector<I>>);
static_assert(same<RESULT(concatenate<A>(ids, ids)), I> && same<RESULT(stack<C>(ids, ids)), Indices<C, A>>);
static_assert(same<RESULT(unbind<A, 3>(ids)), std::array<Indices<>, 3>>);
static_assert(same<RESULT(equal(ids, ids)), Named<A>> && same<RESULT(not_equal(ids, 0)), Named<A>>);
static_assert(same<RESULT(cross_entropy<B>(x, ids)), Named<A>>);
static_assert(same<RESULT(from_vector({1, 2}, Dim<A>{2})), Named<A>> &&
              same<RESULT(indices_from_vector({1, 2}, Dim<A>{2})), I>);
static_assert(same<RESULT(x >= 0.0), X> && same<RESULT(0.0 < x), X> && same<RESULT(not_equal(x, ba)), X>);
static_assert(same<RESULT(dropout(x, 0.5, Key{})), X> && same<RESULT(stop_gradient(x)), X>);
#undef RESULT

// ---- wrong programs
// ------------------------------------------------------------------------------------------------

template <class P, class Q>
concept CanAdd = requires(const P& p, const Q& q) { p + q; };
template <class P>
concept CanScale = requires(const P& p) { p * 2.0; };
template <class Over, class P, class Q>
concept CanDot = requires(const P& p, const Q& q) { dot<Over>(p, q); };
template <class Over, class P>
concept CanSum = requires(const P& p) { sum<Over>(p); };
template <class P, class... Over>
concept CanSumOver = requires(const P& p) { sum<Over...>(p); };
template <class Over, class P>
concept CanArgmax = requires(const P& p) { argmax<Over>(p); };
template <class Over, class P>
concept CanSort = requires(const P& p) { sort<Over>(p); };
template <class P, class Q>
concept CanPow = requires(const P& p, const Q& q) { pow(p, q); };
template <class M, class P, class Q>
concept CanWhere = requires(const M& m, const P& p, const Q& q) { where(m, p, q); };
template <class Over, class P>
concept CanSoftmax = requires(const P& p) { softmax<Over>(p); };
template <class From, class To, class P>
concept CanRename = requires(const P& p) { rename<From, To>(p); };
template <class Along, class P>
concept CanSlice = requires(const P& p) { slice<Along>(p, 0, 1); };
template <class Along, class P, class Q>
concept CanTake = requires(const P& p, const Q& q) { take<Along>(p, q); };
template <class P, class Q>
concept CanConcatenate = requires(const P& p, const Q& q) { concatenate<A>(p, q); };
template <class P, class Q>
concept CanEqual = requires(const P& p, const Q& q) { equal(p, q); };
template <class Vocab, class P, class T>
concept CanCrossEntropy = requires(const P& p, const T& t) { cross_entropy<Vocab>(p, t); };
template <class P, class Q>
concept CanAddInPlace = requires(P& p, const Q& q) { p += q; };
template <class P>
concept CanItem = requires(const P& p) { p.item(); };
template <class Along, class P>
concept CanSize = requires(const P& p) { p.template size<Along>(); };
template <class From, class To, class P>
concept CanFlatten = requires(const P& p) { flatten<From, To>(p); };
template <class K, class P>
concept CanTopK = requires(const P& p) { top_k<B>(p, Dim<K>{2}); };
template <class New, class P>
concept CanBroadcast = requires(const P& p) { broadcast(p, Dim<New>{2}); };
template <class N>
concept CanMakeZeros = requires(N n) { zeros(n); };

static_assert(CanAdd<X, Named<B>> && !CanAdd<X, Y> && !CanAdd<Named<A>, Named<B>> && !CanAdd<I, I> &&
              !CanAdd<X, I>);
static_assert(!Broadcastable<X, Named<Other>> && OneNameTwoTypes<X, Named<Other>> && !OneNameTwoTypes<X, Y>);
static_assert(!OneNameTwoTypes<X, X> && OneNameTwoTypes<Named<Other, B>, I>);
static_assert(CanScale<X> && !CanScale<I>);
static_assert(CanDot<B, X, Y> && !CanDot<A, X, Y> && !CanDot<D, X, Y> && !CanDot<A, X, I>);
static_assert(CanSum<A, X> && !CanSum<C, X> && !CanSum<A, I>);
static_assert(CanSumOver<X, A, B> && !CanSumOver<X, A, C> && !CanSumOver<I>);
static_assert(CanArgmax<A, X> && !CanArgmax<C, X> && !CanArgmax<A, I>);
static_assert(CanSort<A, X> && !CanSort<C, X> && !CanSort<A, I>);
static_assert(CanPow<X, Named<B>> && CanPow<X, double> && !CanPow<X, Y> && !CanPow<X, I>);
static_assert(CanWhere<Named<A>, X, Named<B>> && CanWhere<Named<A>, X, double>);
static_assert(!CanWhere<Named<C>, X, X> && !CanWhere<X, Named<A>, Named<B>> && !CanWhere<I, X, X>);
static_assert(CanSoftmax<A, X> && !CanSoftmax<C, X>);
static_assert(CanRename<A, C, X> && !CanRename<C, D, X> && !CanRename<A, B, X>);
static_assert(CanSlice<A, X> && CanSlice<A, I> && !CanSlice<C, X>);
static_assert(CanTake<A, X, Indices<C>> && !CanTake<A, X, Indices<A>> && !CanTake<A, X, Named<C>>);
static_assert(CanConcatenate<X, Named<B, A>> && !CanConcatenate<X, Named<A>> && !CanConcatenate<Y, Y>);
static_assert(CanEqual<I, int> && !CanEqual<I, double> && CanEqual<X, double> && !CanEqual<I, X>);
static_assert(CanConcatenate<I, I> && !CanConcatenate<I, Named<A>>);
static_assert(CanCrossEntropy<B, X, I> && CanCrossEntropy<C, Named<A, B, C>, Indices<B, A>>);
static_assert(!CanCrossEntropy<A, X, I> && !CanCrossEntropy<B, X, Named<A>> && !CanCrossEntropy<C, X, I>);
static_assert(CanAddInPlace<X, Named<B>> && CanAddInPlace<X, Named<B, A>> && !CanAddInPlace<Named<B>, X>);
static_assert(CanItem<Named<>> && !CanItem<X>);
static_assert(CanSize<A, X> && !CanSize<C, X>);
static_assert(CanFlatten<Axes<A, B>, C, X> && !CanFlatten<Axes<A, C>, D, X> && !CanFlatten<Axes<A>, B, X>);
static_assert(CanTopK<C, X> && !CanTopK<A, X>);
static_assert(CanBroadcast<C, X> && !CanBroadcast<A, X>);
static_assert(CanMakeZeros<Dim<A>> && !CanMakeZeros<int>);

// ---- modules
// -------------------------------------------------------------------------------------------------------

struct Layer {
  Named<A, B> weight;
  Named<A> bias;
  double scale = 1;
  using fields = Fields<&Layer::weight, &Layer::bias, &Layer::scale>;
};
struct Forgetful {
  Named<A, B> weight;
  Named<A> bias;
  using fields = Fields<&Forgetful::weight>;
};
static_assert(Module<Layer> && Module<const Layer&> && !Module<X> && !Module<int>);
static_assert(ListsEveryMember<Layer> && !ListsEveryMember<Forgetful>);
static_assert(detail::member_name<&Layer::weight>() == "weight" &&
              detail::member_name<&Layer::scale>() == "scale");

}  // namespace
}  // namespace bora
