; Two cities of three places each.
(define (problem two-cities)
  (:domain delivery)
  (:objects north south - city
            n1 n2 - place n3 - station
            s1 s2 - place s3 - station
            red blue - van express - train
            letter box - parcel)
  (:init (part-of n1 north) (part-of n2 north) (part-of n3 north)
         (part-of s1 south) (part-of s2 south) (part-of s3 south)
         (road n1 n2) (road n2 n1) (road n2 n3) (road n3 n2)
         (road s1 s2) (road s2 s1) (road s2 s3) (road s3 s2)
         (stands red n1) (stands blue s1) (stands express n3)
         (at letter n1) (at box s2))
  (:goal (and (at letter s1) (at box s1))))
