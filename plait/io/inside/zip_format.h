// Constants of the zip format, for the reader and the writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace plait::zip {

inline constexpr uint32_t kLocalHeader = 0x04034b50;
inline constexpr uint32_t kDescriptor = 0x08074b50;
inline constexpr uint32_t kCentralHeader = 0x02014b50;
inline constexpr uint32_t kEnd = 0x06054b50;
inline constexpr uint32_t kEnd64 = 0x06064b50;
inline constexpr uint32_t kEnd64Locator = 0x07064b50;

// Minimum sizes in bytes.
inline constexpr size_t kLocalHeaderBytes = 30;
inline constexpr size_t kExtraFieldBytes = 4;
inline constexpr size_t kCentralHeaderBytes = 46;
inline constexpr size_t kEndBytes = 22;
inline constexpr size_t kEnd64Bytes = 56;
inline constexpr size_t kEnd64LocatorBytes = 20;

// This value in a field of 16 or 32 bits says that the actual one is in the zip64 extra field or
// record.
template <class T>
inline constexpr T kElsewhere = std::numeric_limits<T>::max();

inline constexpr uint16_t kZip64Field = 1;
inline constexpr uint16_t kAlignmentField = 0xD935;  // the padding field of Android's zipalign

inline constexpr uint16_t kIsEncrypted = 1 << 0;  // flags
inline constexpr uint16_t kHasDescriptor = 1 << 3;
inline constexpr uint16_t kNameIsUtf8 = 1 << 11;

}  // namespace plait::zip
