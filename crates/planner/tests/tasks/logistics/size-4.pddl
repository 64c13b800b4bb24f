(define (problem logistics-04-002)
  (:domain logistics)
  (:objects
    cit1
    apt1
    pos1-2
    tru1-1
    cit2
    apt2
    pos2-2
    tru2-1
    apn1
    obj1
    obj2
    obj3
    obj4)
  (:init
    (city cit1)
    (location apt1)
    (airport apt1)
    (in-city apt1 cit1)
    (location pos1-2)
    (in-city pos1-2 cit1)
    (truck tru1-1)
    (city cit2)
    (location apt2)
    (airport apt2)
    (in-city apt2 cit2)
    (location pos2-2)
    (in-city pos2-2 cit2)
    (truck tru2-1)
    (airplane apn1)
    (at tru1-1 apt1)
    (at tru2-1 apt2)
    (at apn1 apt1)
    (package obj1)
    (at obj1 pos2-2)
    (package obj2)
    (at obj2 apt2)
    (package obj3)
    (at obj3 apt1)
    (package obj4)
    (at obj4 apt1))
  (:goal (and
    (at obj1 pos1-2)
    (at obj2 apt2)
    (at obj3 apt2)
    (at obj4 apt2))))
