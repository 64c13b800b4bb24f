(define (problem p2) (:domain shunting)
  (:objects w1 w2 w3 w4 w5 - wagon t1 t2 t3 - track)
  (:init (idle) (before t1) (linked t1 t2) (linked t2 t1) (linked t2 t3) (linked t3 t2) (first w5 t1) (last w3 t1) (behind w3 w5) (first w1 t2) (last w2 t2) (behind w4 w1) (behind w2 w4) (bare t3))
  (:goal (and (first w3 t1) (behind w5 w3) (behind w1 w5) (first w4 t2) (behind w2 w4))))
