(define (problem blocks-04-001)
  (:domain blocks)
  (:objects
    b1 b2 b3 b4)
  (:init
    (clear b4)
    (handempty)
    (on b2 b1)
    (on b3 b2)
    (on b4 b3)
    (ontable b1))
  (:goal (and
    (on b2 b4)
    (on b3 b2)
    (on b1 b3))))
