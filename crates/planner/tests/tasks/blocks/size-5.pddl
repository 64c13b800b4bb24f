(define (problem blocks-05-002)
  (:domain blocks)
  (:objects
    b1 b2 b3 b4 b5)
  (:init
    (clear b2)
    (clear b3)
    (handempty)
    (on b2 b4)
    (on b4 b5)
    (on b5 b1)
    (ontable b1)
    (ontable b3))
  (:goal (and
    (on b4 b3)
    (on b1 b4)
    (on b2 b1)
    (on b5 b2))))
