; Parcels, vans that keep to the roads of their city, and a train between stations.
(define (domain delivery)
  (:requirements :strips :typing)
  (:types place city carrier parcel - object
          van train - carrier
          station - place)
  (:predicates (at ?p - parcel ?l - place)
               (in ?p - parcel ?c - carrier)
               (stands ?c - carrier ?l - place)
               (road ?a ?b - place)
               (part-of ?l - place ?c - city))
  (:action drive
    :parameters (?v - van ?a ?b - place ?c - city)
    :precondition (and (stands ?v ?a) (road ?a ?b) (part-of ?a ?c) (part-of ?b ?c))
    :effect (and (not (stands ?v ?a)) (stands ?v ?b)))
  (:action ride
    :parameters (?t - train ?a ?b - station)
    :precondition (stands ?t ?a)
    :effect (and (not (stands ?t ?a)) (stands ?t ?b)))
  (:action load
    :parameters (?p - parcel ?c - carrier ?l - place)
    :precondition (and (at ?p ?l) (stands ?c ?l))
    :effect (and (not (at ?p ?l)) (in ?p ?c)))
  (:action unload
    :parameters (?p - parcel ?c - carrier ?l - place)
    :precondition (and (in ?p ?c) (stands ?c ?l))
    :effect (and (not (in ?p ?c)) (at ?p ?l))))
