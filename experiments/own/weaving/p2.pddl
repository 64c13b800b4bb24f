(define (problem p2) (:domain weaving)
  (:objects x1 x2 x3 x4 - cloth c1 c2 c3 - colour l1 l2 - loom s1 s2 - shuttle g1 g2 g3 g4 - stage)
  (:init (spare s1) (spare s2) (open l1) (open l2) (vacant l1) (vacant l2) (then g1 g2) (then g2 g3) (then g3 g4) (waiting x1) (at x1 g1) (asks x1 g1 c3) (asks x1 g2 c3) (asks x1 g3 c2) (waiting x2) (at x2 g1) (asks x2 g1 c1) (asks x2 g2 c3) (asks x2 g3 c3) (waiting x3) (at x3 g1) (asks x3 g1 c1) (asks x3 g2 c2) (asks x3 g3 c3) (waiting x4) (at x4 g1) (asks x4 g1 c1) (asks x4 g2 c3) (asks x4 g3 c1))
  (:goal (and (at x1 g4) (at x2 g4) (at x3 g4) (at x4 g4))))
