;; Inner loops of rounding.ts and floats.ts, four values at a time. The binary is in rounding-kernel.ts; rounding-kernel.test.ts
;; compares the two. All positions are in bytes, all counts in values; counts are multiples of 8.
(module
  (memory (export "memory") 1)

  ;; bf16 to f32: the upper half of the bits.
  (func (export "widenBfloat") (param $in i32) (param $out i32) (param $count i32)
    (local $end i32) (local $v v128)
    (local.set $end (i32.add (local.get $in) (i32.shl (local.get $count) (i32.const 1))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $in) (local.get $end)))
        (local.set $v (v128.load (local.get $in)))
        (v128.store (local.get $out) (i32x4.shl (i32x4.extend_low_i16x8_u (local.get $v)) (i32.const 16)))
        (v128.store offset=16 (local.get $out) (i32x4.shl (i32x4.extend_high_i16x8_u (local.get $v)) (i32.const 16)))
        (local.set $in (i32.add (local.get $in) (i32.const 16)))
        (local.set $out (i32.add (local.get $out) (i32.const 32)))
        (br $next))))

  ;; f16 to f32: the bits in their places are the value times 2^-112, for subnormals too.
  (func $half (param $h v128) (result v128)
    (local $magnitude v128)
    (local.set $magnitude
      (f32x4.mul
        (i32x4.shl (v128.and (local.get $h) (v128.const i32x4 0x7fff 0x7fff 0x7fff 0x7fff)) (i32.const 13))
        (v128.const i32x4 0x77800000 0x77800000 0x77800000 0x77800000)))
    ;; Infinity and NaN come out as 65,536 and more; they get the exponent that says so.
    (local.set $magnitude
      (v128.or (local.get $magnitude)
        (v128.and
          (f32x4.ge (local.get $magnitude) (v128.const f32x4 65536 65536 65536 65536))
          (v128.const i32x4 0x7f800000 0x7f800000 0x7f800000 0x7f800000))))
    (v128.or (local.get $magnitude)
      (i32x4.shl (v128.and (local.get $h) (v128.const i32x4 0x8000 0x8000 0x8000 0x8000)) (i32.const 16))))

  (func (export "widenHalf") (param $in i32) (param $out i32) (param $count i32)
    (local $end i32) (local $v v128)
    (local.set $end (i32.add (local.get $in) (i32.shl (local.get $count) (i32.const 1))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $in) (local.get $end)))
        (local.set $v (v128.load (local.get $in)))
        (v128.store (local.get $out) (call $half (i32x4.extend_low_i16x8_u (local.get $v))))
        (v128.store offset=16 (local.get $out) (call $half (i32x4.extend_high_i16x8_u (local.get $v))))
        (local.set $in (i32.add (local.get $in) (i32.const 16)))
        (local.set $out (i32.add (local.get $out) (i32.const 32)))
        (br $next))))

  ;; f32 to f16, to nearest, ties to even. 65,520 and more, infinity and NaN become infinity.
  (func $narrow (param $f v128) (result v128)
    (local $magnitude v128) (local $normal v128) (local $small v128)
    (local.set $magnitude (v128.and (local.get $f) (v128.const i32x4 0x7fffffff 0x7fffffff 0x7fffffff 0x7fffffff)))
    ;; The exponent moves from bias 127 to 15; the carry of the rounding may run into it, which is right.
    (local.set $normal
      (i32x4.shr_u
        (i32x4.add
          (i32x4.sub (local.get $magnitude) (v128.const i32x4 0x37fff001 0x37fff001 0x37fff001 0x37fff001))
          (v128.and (i32x4.shr_u (local.get $magnitude) (i32.const 13)) (v128.const i32x4 1 1 1 1)))
        (i32.const 13)))
    ;; Below 2^-14: an addition of 0.5 leaves the bits of the subnormal, rounded.
    (local.set $small
      (i32x4.sub
        (f32x4.add (local.get $magnitude) (v128.const f32x4 0.5 0.5 0.5 0.5))
        (v128.const i32x4 0x3f000000 0x3f000000 0x3f000000 0x3f000000)))
    (local.set $normal
      (v128.bitselect (local.get $small) (local.get $normal)
        (i32x4.lt_s (local.get $magnitude) (v128.const i32x4 0x38800000 0x38800000 0x38800000 0x38800000))))
    (local.set $normal
      (v128.bitselect (v128.const i32x4 0x7c00 0x7c00 0x7c00 0x7c00) (local.get $normal)
        (i32x4.ge_s (local.get $magnitude) (v128.const i32x4 0x477ff000 0x477ff000 0x477ff000 0x477ff000))))
    (v128.or (local.get $normal)
      (v128.and (i32x4.shr_u (local.get $f) (i32.const 16)) (v128.const i32x4 0x8000 0x8000 0x8000 0x8000))))

  (func (export "narrowHalf") (param $in i32) (param $out i32) (param $count i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $in) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $in) (local.get $end)))
        (v128.store (local.get $out)
          (i16x8.narrow_i32x4_u
            (call $narrow (v128.load (local.get $in)))
            (call $narrow (v128.load offset=16 (local.get $in)))))
        (local.set $in (i32.add (local.get $in) (i32.const 32)))
        (local.set $out (i32.add (local.get $out) (i32.const 16)))
        (br $next))))

  ;; The largest magnitude, as the bits of an f32: they grow with it, and infinity and NaN are larger than all numbers.
  (func $largest (export "largest") (param $in i32) (param $count i32) (result i32)
    (local $end i32) (local $a v128) (local $b v128)
    (local.set $end (i32.add (local.get $in) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $in) (local.get $end)))
        (local.set $a (i32x4.max_s (local.get $a)
          (v128.and (v128.load (local.get $in)) (v128.const i32x4 0x7fffffff 0x7fffffff 0x7fffffff 0x7fffffff))))
        (local.set $b (i32x4.max_s (local.get $b)
          (v128.and (v128.load offset=16 (local.get $in)) (v128.const i32x4 0x7fffffff 0x7fffffff 0x7fffffff 0x7fffffff))))
        (local.set $in (i32.add (local.get $in) (i32.const 32)))
        (br $next)))
    (local.set $a (i32x4.max_s (local.get $a) (local.get $b)))
    (local.set $a (i32x4.max_s (local.get $a) (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $a) (local.get $a))))
    (local.set $a (i32x4.max_s (local.get $a) (i8x16.shuffle 4 5 6 7 0 1 2 3 12 13 14 15 8 9 10 11 (local.get $a) (local.get $a))))
    (i32x4.extract_lane 0 (local.get $a)))

  ;; Rows to int8: the scale of each row makes its largest magnitude 127.
  (func (export "roundRows")
    (param $in i32) (param $rows i32) (param $rowLength i32) (param $out i32) (param $scales i32)
    (local $end i32) (local $scale f32) (local $all v128) (local $q v128)
    (block $done
      (loop $row
        (br_if $done (i32.eqz (local.get $rows)))
        (local.set $scale
          (f32.div (f32.reinterpret_i32 (call $largest (local.get $in) (local.get $rowLength))) (f32.const 127)))
        (if (f32.eq (local.get $scale) (f32.const 0)) (then (local.set $scale (f32.const 1))))
        (f32.store (local.get $scales) (local.get $scale))
        (local.set $all (f32x4.splat (local.get $scale)))
        (local.set $end (i32.add (local.get $in) (i32.shl (local.get $rowLength) (i32.const 2))))
        (loop $next
          ;; The clamp is for a scale that f32 rounded down.
          (local.set $q
            (i16x8.narrow_i32x4_s
              (i32x4.trunc_sat_f32x4_s (f32x4.nearest (f32x4.div (v128.load (local.get $in)) (local.get $all))))
              (i32x4.trunc_sat_f32x4_s (f32x4.nearest (f32x4.div (v128.load offset=16 (local.get $in)) (local.get $all))))))
          (local.set $q
            (i16x8.max_s (i16x8.min_s (local.get $q) (i16x8.splat (i32.const 127))) (i16x8.splat (i32.const -127))))
          (v128.store64_lane 0 (local.get $out) (i8x16.narrow_i16x8_s (local.get $q) (local.get $q)))
          (local.set $in (i32.add (local.get $in) (i32.const 32)))
          (local.set $out (i32.add (local.get $out) (i32.const 8)))
          (br_if $next (i32.lt_u (local.get $in) (local.get $end))))
        (local.set $scales (i32.add (local.get $scales) (i32.const 4)))
        (local.set $rows (i32.sub (local.get $rows) (i32.const 1)))
        (br $row))))

  ;; A value times $inverse as a whole number from -8 to 7. (The innermost loop has it in place: calls are not inlined.)
  (func $whole (param $v v128) (param $inverse v128) (result v128)
    (f32x4.pmax (v128.const f32x4 -8 -8 -8 -8)
      (f32x4.pmin (v128.const f32x4 7 7 7 7) (f32x4.nearest (f32x4.mul (local.get $v) (local.get $inverse))))))

  (func $sum (param $v v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $v)) (f32x4.extract_lane 1 (local.get $v)))
      (f32.add (f32x4.extract_lane 2 (local.get $v)) (f32x4.extract_lane 3 (local.get $v)))))

  ;; Groups to int4, see roundGroups in rounding.ts. $steps holds $stepCount f32 values.
  (func (export "roundGroups")
    (param $in i32) (param $groups i32) (param $group i32) (param $steps i32) (param $stepCount i32)
    (param $out i32) (param $scales i32)
    (local $at i32) (local $end i32) (local $step i32) (local $stepEnd i32)
    (local $extreme f32) (local $lowest f32) (local $best f32) (local $scale f32)
    (local $high v128) (local $low v128) (local $v v128) (local $q v128) (local $w v128) (local $r v128)
    (local $inverse v128) (local $bestInverse v128) (local $products v128) (local $squares v128)
    (local $products2 v128) (local $squares2 v128) (local $product f32) (local $square f32) (local $reduction f32)
    (local.set $stepEnd (i32.add (local.get $steps) (i32.shl (local.get $stepCount) (i32.const 2))))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $groups)))
        (local.set $end (i32.add (local.get $in) (i32.shl (local.get $group) (i32.const 2))))
        (local.set $high (v128.const f32x4 0 0 0 0))
        (local.set $low (v128.const f32x4 0 0 0 0))
        (local.set $at (local.get $in))
        (loop $search
          (local.set $v (v128.load (local.get $at)))
          (local.set $high (f32x4.pmax (local.get $high) (local.get $v)))
          (local.set $low (f32x4.pmin (local.get $low) (local.get $v)))
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (br_if $search (i32.lt_u (local.get $at) (local.get $end))))
        (local.set $extreme
          (f32.max
            (f32.max (f32x4.extract_lane 0 (local.get $high)) (f32x4.extract_lane 1 (local.get $high)))
            (f32.max (f32x4.extract_lane 2 (local.get $high)) (f32x4.extract_lane 3 (local.get $high)))))
        (local.set $lowest
          (f32.min
            (f32.min (f32x4.extract_lane 0 (local.get $low)) (f32x4.extract_lane 1 (local.get $low)))
            (f32.min (f32x4.extract_lane 2 (local.get $low)) (f32x4.extract_lane 3 (local.get $low)))))
        (if (f32.gt (f32.neg (local.get $lowest)) (local.get $extreme)) (then (local.set $extreme (local.get $lowest))))
        (local.set $scale (f32.const 1))
        (local.set $bestInverse (v128.const f32x4 0 0 0 0))
        ;; Smaller ones have no scale in half precision.
        (if (f32.gt (f32.abs (local.get $extreme)) (f32.const 1e-8))
          (then
            (local.set $best (f32.const -1))
            (local.set $step (local.get $steps))
            (loop $try
              (local.set $inverse
                (f32x4.splat (f32.div (f32.neg (f32.load (local.get $step))) (local.get $extreme))))
              (local.set $products (v128.const f32x4 0 0 0 0))
              (local.set $squares (v128.const f32x4 0 0 0 0))
              (local.set $products2 (v128.const f32x4 0 0 0 0))
              (local.set $squares2 (v128.const f32x4 0 0 0 0))
              (local.set $at (local.get $in))
              (loop $measure
                (local.set $v (v128.load (local.get $at)))
                (local.set $w (v128.load offset=16 (local.get $at)))
                (local.set $q
                  (f32x4.pmax (v128.const f32x4 -8 -8 -8 -8)
                  (f32x4.pmin (v128.const f32x4 7 7 7 7) (f32x4.nearest (f32x4.mul (local.get $v) (local.get $inverse))))))
                (local.set $r
                  (f32x4.pmax (v128.const f32x4 -8 -8 -8 -8)
                  (f32x4.pmin (v128.const f32x4 7 7 7 7) (f32x4.nearest (f32x4.mul (local.get $w) (local.get $inverse))))))
                ;; With x² as weights: Σx²·xq and Σx²·q².
                (local.set $q (f32x4.mul (local.get $v) (local.get $q)))
                (local.set $r (f32x4.mul (local.get $w) (local.get $r)))
                (local.set $products (f32x4.add (local.get $products)
                  (f32x4.mul (f32x4.mul (local.get $v) (local.get $v)) (local.get $q))))
                (local.set $squares (f32x4.add (local.get $squares) (f32x4.mul (local.get $q) (local.get $q))))
                (local.set $products2 (f32x4.add (local.get $products2)
                  (f32x4.mul (f32x4.mul (local.get $w) (local.get $w)) (local.get $r))))
                (local.set $squares2 (f32x4.add (local.get $squares2) (f32x4.mul (local.get $r) (local.get $r))))
                (local.set $at (i32.add (local.get $at) (i32.const 32)))
                (br_if $measure (i32.lt_u (local.get $at) (local.get $end))))
              (local.set $product (call $sum (f32x4.add (local.get $products) (local.get $products2))))
              (local.set $square (call $sum (f32x4.add (local.get $squares) (local.get $squares2))))
              ;; What the best scale takes off the sum of squares. (In this order, because squares of small values are too small.)
              (local.set $reduction (f32.mul (f32.div (local.get $product) (local.get $square)) (local.get $product)))
              (if (f32.gt (local.get $reduction) (local.get $best))
                (then
                  (local.set $best (local.get $reduction))
                  (local.set $scale (f32.div (local.get $product) (local.get $square)))
                  (local.set $bestInverse (local.get $inverse))))
              (local.set $step (i32.add (local.get $step) (i32.const 4)))
              (br_if $try (i32.lt_u (local.get $step) (local.get $stepEnd))))))
        (f32.store (local.get $scales) (local.get $scale))
        (loop $pack
          (local.set $q
            (v128.and
              (i16x8.narrow_i32x4_s
                (i32x4.trunc_sat_f32x4_s (call $whole (v128.load (local.get $in)) (local.get $bestInverse)))
                (i32x4.trunc_sat_f32x4_s (call $whole (v128.load offset=16 (local.get $in)) (local.get $bestInverse))))
              (i16x8.splat (i32.const 15))))
          ;; Two values in each 32 bits: the second one goes beside the first.
          (local.set $q
            (v128.and
              (v128.or (local.get $q) (i32x4.shr_u (local.get $q) (i32.const 12)))
              (v128.const i32x4 255 255 255 255)))
          (local.set $q (i16x8.narrow_i32x4_u (local.get $q) (local.get $q)))
          (v128.store32_lane 0 (local.get $out) (i8x16.narrow_i16x8_u (local.get $q) (local.get $q)))
          (local.set $in (i32.add (local.get $in) (i32.const 32)))
          (local.set $out (i32.add (local.get $out) (i32.const 4)))
          (br_if $pack (i32.lt_u (local.get $in) (local.get $end))))
        (local.set $scales (i32.add (local.get $scales) (i32.const 4)))
        (local.set $groups (i32.sub (local.get $groups) (i32.const 1)))
        (br $next)))))
