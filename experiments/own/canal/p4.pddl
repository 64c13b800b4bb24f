(define (problem p4) (:domain canal)
  (:objects b1 b2 b3 b4 b5 b6 - boat r1 r2 r3 r4 r5 r6 - reach l1 l2 l3 l4 l5 - lock)
  (:init (free l1) (free l2) (free l3) (free l4) (free l5) (high l1) (high l2) (high l3) (low l4) (low l5) (below r1 l1) (above r2 l1) (below r2 l2) (above r3 l2) (below r3 l3) (above r4 l3) (below r4 l4) (above r5 l4) (below r5 l5) (above r6 l5) (at b1 r4) (at b2 r6) (at b3 r6) (at b4 r4) (at b5 r4) (at b6 r3))
  (:goal (and (at b1 r2) (at b2 r2) (at b3 r5) (at b4 r1) (at b5 r2) (at b6 r5))))
