;; Optimal cost: 9 (two boxes, back, one box).
(define (problem three-boxes)
  (:domain workshop)
  (:objects hall yard - room  crate chest trunk - box  left right - arm)
  (:init
    (door hall yard) (door yard hall)
    (robot-in hall) (free left) (free right)
    (box-in crate hall) (box-in chest hall) (box-in trunk hall))
  (:goal (and (box-in crate yard) (box-in chest yard) (box-in trunk yard))))
