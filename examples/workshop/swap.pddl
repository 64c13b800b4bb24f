;; Optimal cost: 8 (three rooms in a row; the boxes at the ends change places).
(define (problem swap)
  (:domain workshop)
  (:objects west middle east - room  red blue - box  left right - arm)
  (:init
    (door west middle) (door middle west) (door middle east) (door east middle)
    (robot-in west) (free left) (free right)
    (box-in red west) (box-in blue east))
  (:goal (and (box-in red east) (box-in blue west))))
