(define (problem p1) (:domain canal)
  (:objects b1 b2 b3 - boat r1 r2 r3 r4 - reach l1 l2 l3 - lock)
  (:init (free l1) (free l2) (free l3) (low l1) (high l2) (low l3) (below r1 l1) (above r2 l1) (below r2 l2) (above r3 l2) (below r3 l3) (above r4 l3) (at b1 r3) (at b2 r3) (at b3 r3))
  (:goal (and (at b1 r1) (at b2 r1) (at b3 r1))))
