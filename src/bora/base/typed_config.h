// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Sections of a configuration whose key `type` chooses what else they hold.
#pragma once
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "bora/base/config.h"
#include "bora/base/registry.h"

namespace bora {

/// What configurations of a kind have in common, if it is nothing.
struct NothingInCommon {};

/// A configuration struct of some type, copied with its value. With a `Base`, the struct derives from it.
template <class Base = NothingInCommon>
class AnyConfig {
 public:
  template <Bindable T>
    requires std::same_as<Base, NothingInCommon> || std::derived_from<T, Base>
  AnyConfig(T value) : held_(std::make_unique<HeldOf<T>>(std::move(value))) {}  // NOLINT
  AnyConfig(const AnyConfig& other) : held_(other.held_->copy()) {}
  AnyConfig(AnyConfig&&) noexcept = default;
  AnyConfig& operator=(AnyConfig other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }
  ~AnyConfig() = default;

  void bind(Binder& b) { held_->bind(b); }

  Base& operator*() { return held_->base(); }
  const Base& operator*() const { return held_->base(); }
  Base* operator->() { return &held_->base(); }
  const Base* operator->() const { return &held_->base(); }

  /// The struct itself, or null if it is one of another type.
  template <class T>
  T* get_if() {
    auto* held = dynamic_cast<HeldOf<T>*>(held_.get());
    return held == nullptr ? nullptr : &held->value;
  }
  template <class T>
  const T* get_if() const {
    return const_cast<AnyConfig*>(this)->get_if<T>();
  }
  /// InvalidArgument if it is one of another type.
  template <class T>
  T& as() {
    if (T* value = get_if<T>()) return *value;
    fail(ErrorKind::InvalidArgument, "a configuration of type {} was asked for one of type {}",
         held_->type().name(), typeid(T).name());
  }
  template <class T>
  const T& as() const {
    return const_cast<AnyConfig*>(this)->as<T>();
  }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual std::unique_ptr<Held> copy() const = 0;
    virtual void bind(Binder& b) = 0;
    virtual Base& base() = 0;
    virtual const std::type_info& type() const = 0;
  };
  template <class T>
  struct HeldOf final : Held {
    explicit HeldOf(T v) : value(std::move(v)) {}
    std::unique_ptr<Held> copy() const override { return std::make_unique<HeldOf>(value); }
    void bind(Binder& b) override { value.bind(b); }
    Base& base() override {
      if constexpr (std::derived_from<T, Base>)
        return value;
      else
        return nothing;
    }
    const std::type_info& type() const override { return typeid(T); }
    T value;
    NothingInCommon nothing;
  };
  std::unique_ptr<Held> held_;
};

/// A type of things whose configuration also makes them.
template <class Base>
struct ConfigType {
  std::string help;        ///< in a few words
  AnyConfig<Base> config;  ///< with default values
};

/// From here on a type that no registry of this program knows ends the reading of a configuration with
/// Unsupported: for a program in front of another one, which may know more types.
void leave_unknown_types_to_others(bool on = true);

/// What is to be done about an unknown type: a problem of the key `type`, which names the other keys, too: they cannot be
/// judged.
void refuse_type(Binder& b, const std::string& message);
/// The same for one that is a misspelt name of a known one, by which the caller judges the other keys.
void refuse_near_type(Binder& b, const std::string& message);

/// The key `type`: reads a name of `types` and makes `config` what that type has by default, unless it is of
/// this type already. The keys of `config` are the caller's to bind. False where the type is refused.
template <class Entry, class Config>
bool bind_type(Binder& b, std::string& type, Config& config, const Registry<Entry>& types,
               std::string_view doc) {
  const auto named = b.reading() ? b.text("type") : std::nullopt;
  if (!named) {
    b.choice("type", type, types.names(), doc);
    return b.sound({"type"}) || !b.reading();
  }
  b.mark_used("type");
  if (*named == type) return true;
  auto known = *named;
  if (types.find(known) == nullptr) {
    const auto names = types.names();
    const auto near = nearest(known, names);
    if (!near) {
      refuse_type(b, types.unknown(known));
      return false;
    }
    refuse_near_type(b, types.unknown(known));
    known = *near;
  }
  type = known;
  config = types.find(known)->config;
  return true;
}

}  // namespace bora
