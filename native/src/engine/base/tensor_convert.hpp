#pragma once

#include <openvino/openvino.hpp>

namespace pergola {

/// The tensor with another element type; itself where it has that type already. Throws where the types cannot be converted.
ov::Tensor converted(const ov::Tensor& tensor, const ov::element::Type& type);

}  // namespace pergola
