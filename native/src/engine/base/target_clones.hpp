#pragma once

/// The package runs on any x86-64 processor; functions with this mark are also compiled for wider vectors, chosen when the library loads.
/// Sanitizers do not go with that choice (it runs before they are ready).
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PERGOLA_TARGET_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), gnu::flatten]]
#else
#define PERGOLA_TARGET_CLONES
#endif
