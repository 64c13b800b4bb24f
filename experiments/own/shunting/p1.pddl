(define (problem p1) (:domain shunting)
  (:objects w1 w2 w3 w4 - wagon t1 t2 t3 - track)
  (:init (idle) (before t1) (linked t1 t2) (linked t2 t1) (linked t2 t3) (linked t3 t2) (first w2 t1) (last w4 t1) (behind w4 w2) (first w1 t2) (last w3 t2) (behind w3 w1) (bare t3))
  (:goal (and (first w1 t1) (first w2 t2) (behind w3 w2) (behind w4 w3))))
