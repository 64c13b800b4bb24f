(define (problem p3) (:domain canal)
  (:objects b1 b2 b3 b4 b5 - boat r1 r2 r3 r4 r5 - reach l1 l2 l3 l4 - lock)
  (:init (free l1) (free l2) (free l3) (free l4) (high l1) (low l2) (high l3) (high l4) (below r1 l1) (above r2 l1) (below r2 l2) (above r3 l2) (below r3 l3) (above r4 l3) (below r4 l4) (above r5 l4) (at b1 r2) (at b2 r5) (at b3 r5) (at b4 r2) (at b5 r4))
  (:goal (and (at b1 r5) (at b2 r1) (at b3 r1) (at b4 r1) (at b5 r5))))
