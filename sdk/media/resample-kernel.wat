;; Inner loop of resampler.ts: dot products of the input with rows of a table of filter taps, four lanes at a time.
;; The binary is in resample-kernel.ts; resample-kernel.test.ts compares the two.
(module
  (memory (export "memory") 1)
  ;; All positions are in bytes. `rowBytes` is a multiple of 64.
  ;; $phase counts in 1/$phases of an input sample and grows by $step from one output to the next.
  (func (export "run")
    (param $input i32) (param $table i32) (param $rowBytes i32) (param $phase i32) (param $step i32) (param $phases i32)
    (param $output i32) (param $count i32)
    (local $in i32) (local $tap i32) (local $rowEnd i32) (local $outputEnd i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local.set $outputEnd (i32.add (local.get $output) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $output) (local.get $outputEnd)))
        (local.set $in (local.get $input))
        (local.set $tap (i32.add (local.get $table) (i32.mul (local.get $phase) (local.get $rowBytes))))
        (local.set $rowEnd (i32.add (local.get $tap) (local.get $rowBytes)))
        (local.set $a (v128.const f32x4 0 0 0 0))
        (local.set $b (v128.const f32x4 0 0 0 0))
        (local.set $c (v128.const f32x4 0 0 0 0))
        (local.set $d (v128.const f32x4 0 0 0 0))
        ;; Four sums, because an addition must wait for the one before it.
        (loop $sum
          (local.set $a (f32x4.add (local.get $a)
            (f32x4.mul (v128.load (local.get $in)) (v128.load (local.get $tap)))))
          (local.set $b (f32x4.add (local.get $b)
            (f32x4.mul (v128.load offset=16 (local.get $in)) (v128.load offset=16 (local.get $tap)))))
          (local.set $c (f32x4.add (local.get $c)
            (f32x4.mul (v128.load offset=32 (local.get $in)) (v128.load offset=32 (local.get $tap)))))
          (local.set $d (f32x4.add (local.get $d)
            (f32x4.mul (v128.load offset=48 (local.get $in)) (v128.load offset=48 (local.get $tap)))))
          (local.set $in (i32.add (local.get $in) (i32.const 64)))
          (local.set $tap (i32.add (local.get $tap) (i32.const 64)))
          (br_if $sum (i32.lt_u (local.get $tap) (local.get $rowEnd))))
        (local.set $a
          (f32x4.add (f32x4.add (local.get $a) (local.get $b)) (f32x4.add (local.get $c) (local.get $d))))
        (f32.store (local.get $output)
          (f32.add
            (f32.add (f32x4.extract_lane 0 (local.get $a)) (f32x4.extract_lane 1 (local.get $a)))
            (f32.add (f32x4.extract_lane 2 (local.get $a)) (f32x4.extract_lane 3 (local.get $a)))))
        (local.set $output (i32.add (local.get $output) (i32.const 4)))
        (local.set $phase (i32.add (local.get $phase) (local.get $step)))
        (local.set $input
          (i32.add (local.get $input) (i32.shl (i32.div_u (local.get $phase) (local.get $phases)) (i32.const 2))))
        (local.set $phase (i32.rem_u (local.get $phase) (local.get $phases)))
        (br $next)))))
