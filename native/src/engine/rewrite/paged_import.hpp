#pragma once

#include <openvino/openvino.hpp>

namespace pergola {

/// Lets compiled paged models be imported again.
///
/// `export_model` of the CPU plugin does not write the run-time notes (`num_k_heads`, `k_head_size`, ...) that its own
/// PagedAttention node asks for when the blob is read (OpenVINO 2026.4.1: "Runtime info k_head_size and num_k_heads are
/// required"). The numbers follow from the shapes in the blob, so an extension of the reader puts them back. Needed once a core,
/// before the first import on the CPU.
void enable_paged_import(ov::Core& core);

}  // namespace pergola
